package screens

import "context"

// Mark tells two states of a screen apart.
type Mark struct {
	State, Why, Incarnation string
	Revision                uint64
}

// Mark returns the screen's mark.
func (s *Screen) Mark() Mark {
	return Mark{State: s.State, Why: s.Why, Incarnation: s.Incarnation, Revision: s.Revision}
}

// Source is where a [Hub]'s screens come from.
type Source interface {
	// Next returns what the session shows once that has another mark than after; at once
	// for the zero mark. It waits for a change, it does not poll, unless its backend
	// allows nothing else. A session that does not exist is a screen in the state [Gone].
	// An error means that nothing can be told: the hub asks again after a pause. rate is
	// how often a second it will be called at most, while the screen changes.
	//
	// A hub has at most one call for each session at a time.
	Next(ctx context.Context, id string, after Mark, rate float64) (*Screen, error)
}

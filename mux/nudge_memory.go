package mux

import (
	"context"
	"hash/fnv"

	"gascity.dev/gc/mux/api"
)

// Stages of a nudge, as its mark in the journal's header says. The order is
// that of the transaction; those from stageReceipt on are its end.
const (
	stageTyping  = 1 // bytes of the text may have been written
	stageEntered = 2 // Enter may have been written

	stageReceipt = 16 // and the index of the receipt's state
)

// receiptStates are the states in the order of their stages; only added to.
var receiptStates = []string{api.Submitted, api.Drafted, api.Blocked, api.Refused, api.Dead, api.Unverified}

// flight is a nudge that is under way in this server.
type flight struct {
	done chan struct{}
	rec  api.Receipt
	err  error
}

// nudgeKey is the id's hash, never 0.
func nudgeKey(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return max(h.Sum64(), 1)
}

// nudgeOnce carries out a nudge, or joins the one with the same id, or tells
// how that one ended.
func (s *session) nudgeOnce(ctx context.Context, r api.NudgeRequest) (api.Receipt, error) {
	if r.ID == "" {
		return s.runNudge(ctx, r, 0, nil)
	}
	key := nudgeKey(r.ID)
	s.mu.Lock()
	if f := s.in.flights[key]; f != nil {
		s.mu.Unlock()
		select {
		case <-f.done:
			return f.rec, f.err
		case <-ctx.Done():
			return api.Receipt{}, ctx.Err()
		}
	}
	if rec, ok := s.remembered(key); ok {
		s.mu.Unlock()
		return rec, nil
	}
	f := &flight{done: make(chan struct{})}
	if s.in.flights == nil {
		s.in.flights = make(map[uint64]*flight)
	}
	s.in.flights[key] = f
	s.mu.Unlock()
	f.rec, f.err = s.runNudge(ctx, r, key, func(stage uint64) { s.mark(key, stage) })
	s.mu.Lock()
	delete(s.in.flights, key)
	if len(s.in.flights) == 0 {
		s.in.flights = nil
	}
	s.mu.Unlock()
	close(f.done)
	return f.rec, f.err
}

// mark notes how far a nudge came; stage 0 forgets it. Nudges of a session come
// one after the other, and a new one takes the place of the oldest.
func (s *session) mark(key, stage uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.collected {
		return
	}
	if m := s.j.nudge(key); m != nil {
		if stage == 0 {
			m.id.Store(0)
		}
		m.stage.Store(stage)
		return
	}
	if stage == 0 {
		return
	}
	m := s.j.takeMark()
	m.id.Store(0)
	m.stage.Store(stage)
	m.id.Store(key)
}

// remembered is the receipt of a nudge that this server, or one that died,
// has begun. mu is held.
func (s *session) remembered(key uint64) (api.Receipt, bool) {
	if s.collected {
		return api.Receipt{}, false
	}
	return s.j.receipt(key)
}

// receipt is the outcome of a nudge that has a mark. A nudge without one was
// not begun, or no byte of it was typed.
func (s *slot) receipt(key uint64) (api.Receipt, bool) {
	m := s.nudge(key)
	if m == nil {
		return api.Receipt{}, false
	}
	switch stage := m.stage.Load(); {
	case stage == stageTyping:
		return api.Receipt{State: api.Drafted, Detail: "the server was restarted while the text was typed"}, true
	case stage == stageEntered:
		return api.Receipt{State: api.Unverified, Detail: "typed and entered; the server was restarted before it was verified"}, true
	case stage >= stageReceipt && stage-stageReceipt < uint64(len(receiptStates)):
		r := api.Receipt{State: receiptStates[stage-stageReceipt], Typed: true}
		r.Detail = map[string]string{
			api.Drafted:    "typed, not submitted",
			api.Refused:    "the program took only a part of it",
			api.Dead:       "the program ended before the text was seen to be submitted",
			api.Unverified: "typed and entered; nothing could be seen",
		}[r.State]
		return r, true
	}
	return api.Receipt{}, false
}

// receiptStage is the stage that stands for a receipt: 0 when nothing was
// typed, so that the same nudge can be tried again.
func receiptStage(r api.Receipt) uint64 {
	if !r.Typed && r.State != api.Submitted {
		return 0
	}
	for i, state := range receiptStates {
		if state == r.State {
			return stageReceipt + uint64(i)
		}
	}
	return stageEntered
}

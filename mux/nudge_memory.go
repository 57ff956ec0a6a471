package mux

import (
	"context"
	"hash/fnv"
)

// Stages of a nudge, as its mark in the journal's header says. The order is
// that of the transaction; those from stageReceipt on are its end.
const (
	stageTyping  = 1 // bytes of the text may have been written
	stageEntered = 2 // Enter may have been written

	stageReceipt = 16 // and the index of the receipt's state
)

// receiptStates are the states in the order of their stages; only added to.
var receiptStates = []string{Submitted, Drafted, Blocked, Refused, Dead, Unverified}

// flight is a nudge that is under way in this server.
type flight struct {
	done chan struct{}
	rec  Receipt
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
func (s *session) nudgeOnce(ctx context.Context, r NudgeRequest) (Receipt, error) {
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
			return Receipt{}, ctx.Err()
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

// mark notes how far a nudge came. Nudges of a session come one after the
// other, so that a new one takes the place of the oldest.
func (s *session) mark(key, stage uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.collected {
		return
	}
	if m := s.j.nudge(key); m != nil {
		m.stage.Store(stage)
		return
	}
	i := s.in.nextMark % nudgeMemory
	s.in.nextMark++
	m := &s.j.nudges[i]
	m.id.Store(0)
	m.stage.Store(stage)
	m.id.Store(key)
}

// remembered is the receipt of a nudge that this server, or one that died,
// has begun. mu is held.
func (s *session) remembered(key uint64) (Receipt, bool) {
	if s.collected {
		return Receipt{}, false
	}
	if m := s.j.nudge(key); m != nil {
		switch stage := m.stage.Load(); {
		case stage == stageTyping:
			return Receipt{State: Drafted, Detail: "the server was restarted while the text was typed"}, true
		case stage == stageEntered:
			return Receipt{State: Unverified, Detail: "typed and entered; the server was restarted before it was verified"}, true
		case stage >= stageReceipt && stage-stageReceipt < uint64(len(receiptStates)):
			return Receipt{State: receiptStates[stage-stageReceipt]}, true
		}
	}
	return Receipt{}, false
}

// forgetNudge lets a nudge of which nothing was typed be tried again.
func (s *session) forgetNudge(id string) {
	key := nudgeKey(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.collected {
		return
	}
	if m := s.j.nudge(key); m != nil {
		m.id.Store(0)
	}
}

// receiptStage is the stage that stands for a receipt.
func receiptStage(r Receipt) uint64 {
	for i, state := range receiptStates {
		if state == r.State {
			return stageReceipt + uint64(i)
		}
	}
	return stageEntered
}

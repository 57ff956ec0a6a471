package server

import (
	"context"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
)

// flight is a nudge that is under way in this server.
type flight struct {
	done chan struct{}
	rec  api.Receipt
	err  error
}

// nudgeOnce carries out a nudge, or joins the one with the same id, or tells
// how that one ended.
func (s *session) nudgeOnce(ctx context.Context, r api.NudgeRequest) (api.Receipt, error) {
	if r.ID == "" {
		return s.runNudge(ctx, r, 0, nil)
	}
	key := journal.NudgeKey(r.ID)
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
	if m := s.j.Nudge(key); m != nil {
		if stage == 0 {
			m.ID.Store(0)
		}
		m.Stage.Store(stage)
		return
	}
	if stage == 0 {
		return
	}
	m := s.j.TakeMark()
	m.ID.Store(0)
	m.Stage.Store(stage)
	m.ID.Store(key)
}

// remembered is the receipt of a nudge that this server, or one that died,
// has begun. mu is held.
func (s *session) remembered(key uint64) (api.Receipt, bool) {
	if s.collected {
		return api.Receipt{}, false
	}
	return s.j.Receipt(key)
}

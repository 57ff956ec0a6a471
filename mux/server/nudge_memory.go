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

// await returns the nudge's receipt when it is finished.
func (f *flight) await(ctx context.Context) (api.Receipt, error) {
	select {
	case <-f.done:
		return f.rec, f.err
	case <-ctx.Done():
		return api.Receipt{}, ctx.Err()
	}
}

// once carries out a nudge, joins the one with the same id, or returns that one's
// receipt.
func (ns *nudges) once(ctx context.Context, r api.NudgeRequest) (api.Receipt, error) {
	s := ns.s
	if r.ID == "" {
		return ns.run(ctx, r, 0, nil)
	}
	key := journal.NudgeKey(r.ID)
	s.mu.Lock()
	if f := ns.flights[key]; f != nil {
		s.mu.Unlock()
		return f.await(ctx)
	}
	if rec, ok := ns.remembered(key); ok {
		s.mu.Unlock()
		return rec, nil
	}
	f := &flight{done: make(chan struct{})}
	if ns.flights == nil {
		ns.flights = make(map[uint64]*flight)
	}
	ns.flights[key] = f
	s.mu.Unlock()
	f.rec, f.err = ns.run(ctx, r, key, func(stage uint64) { ns.record(key, stage) })
	s.mu.Lock()
	delete(ns.flights, key)
	if len(ns.flights) == 0 {
		ns.flights = nil
	}
	s.mu.Unlock()
	close(f.done)
	return f.rec, f.err
}

// result returns the receipt of a nudge that this server or an earlier one began. known
// is false if none of it was typed.
func (ns *nudges) result(ctx context.Context, id string) (rec api.Receipt, known bool) {
	key := journal.NudgeKey(id)
	ns.s.mu.Lock()
	f := ns.flights[key]
	if f == nil {
		defer ns.s.mu.Unlock()
		return ns.remembered(key)
	}
	ns.s.mu.Unlock()
	select {
	case <-f.done:
		return f.rec, f.err == nil
	case <-ctx.Done():
		return api.Receipt{}, false
	}
}

// record records the stage of a nudge; stage 0 forgets it. A new nudge replaces the oldest
// record.
func (ns *nudges) record(key, stage uint64) {
	s := ns.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.collected {
		return
	}
	if m := s.storage.journal.Nudge(key); m != nil {
		if stage == 0 {
			m.ID.Store(0)
		}
		m.Stage.Store(stage)
		return
	}
	if stage == 0 {
		return
	}
	m := s.storage.journal.OldestNudge()
	m.ID.Store(0)
	m.Stage.Store(stage)
	m.ID.Store(key)
}

// remembered returns the receipt of a nudge that this server or an earlier one began. mu
// is held.
func (ns *nudges) remembered(key uint64) (api.Receipt, bool) {
	if ns.s.life.collected {
		return api.Receipt{}, false
	}
	return ns.s.storage.journal.Receipt(key)
}

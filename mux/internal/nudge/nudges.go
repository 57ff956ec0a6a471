package nudge

import (
	"context"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/fifo"
	"gascity.dev/gc/mux/journal"
)

// Nudges are a session's nudges: one at a time, in the order of arrival.
type Nudges struct {
	s     Session
	queue *fifo.Lock // held by the nudge under way

	// guarded by the session's lock
	left    unsent             // of the last one, not submitted
	last    unsent             // the last one, submitted
	flights map[uint64]*flight // under way, by the key of their id
}

// New returns the nudges of a session.
func New(s Session) Nudges { return Nudges{s: s, queue: fifo.New()} }

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

// Once carries out a nudge, joins the one with the same id, or returns that one's
// receipt.
func (ns *Nudges) Once(ctx context.Context, r api.NudgeRequest) (api.Receipt, error) {
	if r.ID == "" {
		return ns.run(ctx, r, 0, nil)
	}
	key := journal.NudgeKey(r.ID)
	return ns.join(ctx, key, func() (api.Receipt, error) {
		return ns.run(ctx, r, key, func(stage uint64) { ns.record(key, stage) })
	})
}

// Send is Once for a program to which deliver hands the message, without typing: its
// receiver knows the message's id, and takes it once.
func (ns *Nudges) Send(ctx context.Context, r api.NudgeRequest, deliver func() (api.Receipt, error)) (api.Receipt, error) {
	key := journal.NudgeKey(r.ID)
	return ns.join(ctx, key, func() (api.Receipt, error) {
		rec, err := deliver()
		if err != nil {
			return rec, err
		}
		ns.record(key, journal.ReceiptStage(rec))
		ns.s.Nudged(r, rec)
		return rec, nil
	})
}

// join waits for the nudge with the key that is under way, returns its receipt, or
// carries it out.
func (ns *Nudges) join(ctx context.Context, key uint64, carryOut func() (api.Receipt, error)) (api.Receipt, error) {
	s := ns.s
	s.Lock()
	if f := ns.flights[key]; f != nil {
		s.Unlock()
		return f.await(ctx)
	}
	if rec, ok := ns.remembered(key); ok {
		s.Unlock()
		return rec, nil
	}
	f := &flight{done: make(chan struct{})}
	if ns.flights == nil {
		ns.flights = make(map[uint64]*flight)
	}
	ns.flights[key] = f
	s.Unlock()
	f.rec, f.err = carryOut()
	s.Lock()
	delete(ns.flights, key)
	if len(ns.flights) == 0 {
		ns.flights = nil
	}
	s.Unlock()
	close(f.done)
	return f.rec, f.err
}

// Begun finds a nudge with one of the ids that this server or an earlier one began;
// outcome is nil if no byte of any was typed. It waits for one that is under way. The
// session's lock is held, or no one else has the session.
func (ns *Nudges) Begun(ids ...string) (outcome func(context.Context) (api.Receipt, error)) {
	for _, id := range ids {
		key := journal.NudgeKey(id)
		if f := ns.flights[key]; f != nil {
			return f.await
		}
		if rec, ok := ns.remembered(key); ok {
			return func(context.Context) (api.Receipt, error) { return rec, nil }
		}
	}
	return nil
}

// Touch notes that a person has typed after what the last nudge left. The session's lock
// is held.
func (ns *Nudges) Touch() { ns.left.touched = true }

// Interrupted notes that the program was interrupted. An agent may put the message of a
// turn back into its composer then; the next message must not be typed after it. The
// session's lock is held.
func (ns *Nudges) Interrupted() {
	if ns.left.print == "" {
		ns.left, ns.last = ns.last, unsent{}
	}
}

// ended reports whether the session has ended.
func (ns *Nudges) ended() bool {
	ns.s.Lock()
	defer ns.s.Unlock()
	_, ended := ns.s.Ending()
	return ended
}

// record records the stage of a nudge; stage 0 forgets it. A new nudge replaces the oldest
// record.
func (ns *Nudges) record(key, stage uint64) {
	s := ns.s
	s.Lock()
	defer s.Unlock()
	j := s.Journal()
	if j == nil {
		return
	}
	if m := j.Nudge(key); m != nil {
		if stage == 0 {
			m.ID.Store(0)
		}
		m.Stage.Store(stage)
		return
	}
	if stage == 0 {
		return
	}
	m := j.OldestNudge()
	m.ID.Store(0)
	m.Stage.Store(stage)
	m.ID.Store(key)
}

// remembered returns the receipt of a nudge that this server or an earlier one began. The
// session's lock is held.
func (ns *Nudges) remembered(key uint64) (api.Receipt, bool) {
	j := ns.s.Journal()
	if j == nil {
		return api.Receipt{}, false
	}
	return j.Receipt(key)
}

package server

import (
	"context"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
)

// begun returns the nudge that a dead server began and did not end, and its stage.
func (ns *nudges) begun() (key, stage uint64, ok bool) {
	for i := range ns.s.storage.journal.Nudges {
		m := &ns.s.storage.journal.Nudges[i]
		if st := m.Stage.Load(); m.ID.Load() != 0 && (st == journal.StageTyping || st == journal.StageEntered) {
			return m.ID.Load(), st, true
		}
	}
	return 0, 0, false
}

// claim takes the locks of such a nudge before anyone else can and returns what finishes
// it; nil if there is none.
func (ns *nudges) claim() (finish func(ctx context.Context)) {
	s := ns.s
	s.mu.Lock()
	defer s.mu.Unlock()
	key, stage, ok := ns.begun()
	if !ok {
		return nil
	}
	a, err := s.storage.journal.ReadAhead()
	if err != nil || a.Key != key {
		return nil // its receipt is what the journal knows
	}
	f := &flight{done: make(chan struct{})}
	ns.flights = map[uint64]*flight{key: f}
	for _, l := range []*fifo{ns.queue, s.input.lock} {
		if err := l.lock(context.Background()); err != nil { // never waits: nobody else has the session yet
			return nil
		}
	}
	n := &nudge{s: s, text: string(a.Text), mode: inputMode{bracket: a.Bracket}, key: key}
	n.print = fingerprint(n.text)
	n.stage = func(stage uint64) { ns.record(key, stage) }
	return func(ctx context.Context) {
		defer ns.queue.unlock()
		f.rec = n.resume(ctx, stage)
		n.leave(&f.rec)
		s.mu.Lock()
		delete(ns.flights, key)
		s.mu.Unlock()
		close(f.done)
		s.srv.events.emit(s, api.Event{Type: api.EventNudged, Receipt: &f.rec})
	}
}

// resume continues where the dead server stopped. The caller holds both locks.
func (n *nudge) resume(ctx context.Context, stage uint64) api.Receipt {
	s := n.s
	bracket := n.mode.bracket // as the text was begun, whatever the program's mode is now
	n.readMode()
	n.mode.bracket = bracket
	if stage == journal.StageEntered {
		n.wrote = true
		s.input.release()
		n.typed = n.view()
		return n.verify(ctx)
	}
	p := keys.AppendPaste(nil, []byte(n.text), n.mode.bracket)
	s.mu.Lock()
	done, next := s.storage.journal.AheadDone.Load(), s.storage.journal.AheadNext.Load()
	s.mu.Unlock()
	if done != next || done > uint64(len(p)) {
		// Killed during a write: only the screen shows whether the terminal took it.
		n.wrote = true
		n.closePaste(1, len(p))
		if err := n.awaitQuiet(ctx); err != nil || !n.typed.standing {
			s.input.release()
			return api.Receipt{State: api.Drafted, Detail: "the server was restarted while the text was typed"}
		}
		done = uint64(len(p))
	}
	rec, ok := n.finishWrite(ctx, p, int(done))
	s.input.release()
	if !ok {
		return rec
	}
	return n.verify(ctx)
}

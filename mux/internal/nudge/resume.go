package nudge

import (
	"context"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
)

// begun returns the nudge that a dead server began and did not end, and its stage.
func (ns *Nudges) begun() (key, stage uint64, ok bool) {
	j := ns.s.Journal()
	for i := range j.Nudges {
		m := &j.Nudges[i]
		if st := m.Stage.Load(); m.ID.Load() != 0 && (st == journal.StageTyping || st == journal.StageEntered) {
			return m.ID.Load(), st, true
		}
	}
	return 0, 0, false
}

// Claim takes the locks of such a nudge before anyone else can and returns what finishes
// it; nil if there is none. It is called before anyone else has the session.
func (ns *Nudges) Claim() (finish func(ctx context.Context)) {
	s := ns.s
	key, stage, ok := ns.begun()
	if !ok {
		return nil
	}
	a, err := s.Journal().ReadAhead()
	if err != nil || a.Key != key {
		return nil // its receipt is what the journal knows
	}
	f := &flight{done: make(chan struct{})}
	ns.flights = map[uint64]*flight{key: f}
	for _, lock := range []func(context.Context) error{ns.queue.Lock, s.Acquire} {
		if err := lock(context.Background()); err != nil { // never waits: no one else has the session yet
			return nil
		}
	}
	n := &nudge{s: s, program: s.Program(), all: ns, text: string(a.Text), mode: Mode{Bracket: a.Bracket}, key: key}
	n.print = fingerprint(n.text)
	n.stage = func(stage uint64) { ns.record(key, stage) }
	return func(ctx context.Context) {
		defer ns.queue.Unlock()
		f.rec = n.resume(ctx, stage)
		n.leave(&f.rec)
		s.Lock()
		delete(ns.flights, key)
		s.Unlock()
		close(f.done)
		s.Nudged(api.NudgeRequest{Text: n.text}, f.rec)
	}
}

// resume continues where the dead server stopped. The caller holds both locks.
func (n *nudge) resume(ctx context.Context, stage uint64) api.Receipt {
	s := n.s
	bracket := n.mode.Bracket // as the text was begun, whatever the program's mode is now
	n.readMode()
	n.mode.Bracket = bracket
	if stage == journal.StageEntered {
		n.wrote = true
		s.Release()
		n.typed = n.look()
		return n.verify(ctx)
	}
	p := keys.AppendPaste(nil, []byte(n.text), n.mode.Bracket)
	done, next := n.progress()
	if done != next || done > uint64(len(p)) {
		// Killed during a write: only the screen shows whether the terminal took it.
		n.wrote = true
		n.closePaste(1, len(p))
		if err := n.awaitQuiet(ctx); err != nil || !n.typed.standing {
			s.Release()
			return api.Receipt{State: api.Drafted, Detail: "the server was restarted while the text was typed"}
		}
		done = uint64(len(p))
	}
	rec, ok := n.finishWrite(ctx, p, int(done))
	s.Release()
	if !ok {
		return rec
	}
	return n.verify(ctx)
}

// progress returns how much of the text the terminal took, and how much it was given.
func (n *nudge) progress() (done, given uint64) {
	n.s.Lock()
	defer n.s.Unlock()
	if j := n.s.Journal(); j != nil {
		done, given = j.AheadDone.Load(), j.AheadNext.Load()
	}
	return done, given
}

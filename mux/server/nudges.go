package server

import (
	"context"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// nudged is a session as its nudges see it.
type nudged struct{ s *session }

var _ nudge.Session = nudged{}

func (n nudged) Program() nudge.Program {
	return nudge.Program{Ready: n.s.rec.Ready, Composer: n.s.rec.Composer, Dialogs: n.s.srv.settings.dialogs}
}

func (n nudged) Encode(names ...string) ([]byte, error) {
	return keys.Encode(nil, names, n.s.screen.keyModes())
}

func (n nudged) Nudged(r api.NudgeRequest, rec api.Receipt) {
	n.s.srv.events.emit(n.s, api.Event{Type: api.EventNudged, Receipt: &rec, Text: excerpt(r.Text), By: r.By})
}

func (n nudged) Interrupt(by *api.Actor) error {
	err := n.s.input.interrupt()
	if err == nil {
		n.s.srv.events.emit(n.s, api.Event{Type: api.EventInterrupted, By: by})
	}
	return err
}

func (n nudged) Acquire(ctx context.Context) error         { return n.s.input.acquire(ctx) }
func (n nudged) Release()                                  { n.s.input.release() }
func (n nudged) CancelWith(cancel context.CancelCauseFunc) { n.s.input.cancelWith(cancel) }
func (n nudged) Track(on bool)                             { n.s.input.track(on) }
func (n nudged) Write(ctx context.Context, p []byte, patience time.Duration) (int, error) {
	return n.s.input.write(ctx, p, patience)
}

func (n nudged) Lock()                        { n.s.mu.Lock() }
func (n nudged) Unlock()                      { n.s.mu.Unlock() }
func (n nudged) Ending() (ending, ended bool) { return n.s.life.ending(), n.s.life.ended() }
func (n nudged) View() *vt.Terminal           { return n.s.screen.view() }
func (n nudged) Unread() (int, bool)          { return n.s.tty.unread() }
func (n nudged) Change() <-chan struct{}      { return n.s.change() }

func (n nudged) Output() (offset uint64, last time.Time) {
	if at := n.s.activity.lastOut; at != 0 {
		last = time.Now().Add(-n.s.srv.clock.Since(unixTime(at)))
	}
	return n.s.screen.rendered, last
}

func (n nudged) Activity() (a api.Activity, known bool, again time.Duration) {
	return n.s.activity.detect()
}

func (n nudged) Typing() (until time.Time, typing bool) { return n.s.clients.Draft() }

func (n nudged) Mode() nudge.Mode {
	cooked, crnl := n.s.tty.cooked()
	return nudge.Mode{Cooked: cooked, CRNL: crnl, Bracket: n.s.screen.term.Modes().BracketedPaste && !n.s.rec.Pipes}
}

func (n nudged) Journal() *journal.Journal {
	if n.s.life.collected {
		return nil
	}
	return n.s.storage.journal
}

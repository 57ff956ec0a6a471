package server

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// maxPeeks bounds one request for many sessions.
const maxPeeks = 4096

// peek returns what a session shows.
func (sc *screen) peek(r api.PeekRequest) (api.PeekResult, error) {
	s := sc.s
	if isPast(&r) {
		return sc.peekAt(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := api.PeekResult{
		ID: s.rec.ID, Name: s.name(), State: api.StateRunning, Revision: sc.revision(),
		ScreenLost: sc.lost, Exit: s.life.exitCopy(),
	}
	if s.life.ended() {
		out.State = api.StateExited
	}
	if r.IfRevision != 0 && r.IfRevision == out.Revision {
		out.Unchanged = true
		return out, nil
	}
	err := dump(sc.view(), r, &out)
	out.HistoryLost = sc.term.HistoryLost()
	if out.Screen != nil {
		out.Screen.Revision = out.Revision
	}
	return out, err
}

// isPast reports whether the request is for a moment of the recording.
func isPast(r *api.PeekRequest) bool { return !r.At.IsZero() || r.Elapsed != nil || r.AtOutput != nil }

// same reports whether a peek would only say that a running session is unchanged.
func (sc *screen) same(r *api.PeekRequest) bool {
	s := sc.s
	if r.IfRevision == 0 || isPast(r) || r.Name != s.name() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return sc.revision() == r.IfRevision && !s.life.ended() && !sc.lost
}

// peekAt returns what a recorded session showed at a moment. That screen is built
// without the session's lock.
func (sc *screen) peekAt(r api.PeekRequest) (api.PeekResult, error) {
	t, err := sc.at(r)
	if err != nil {
		return api.PeekResult{}, err
	}
	out := api.PeekResult{ID: sc.s.rec.ID, Name: sc.s.name(), Revision: t.Revision()}
	err = dump(t, r, &out)
	return out, err
}

// dump fills in what a peek asks for.
func dump(t *vt.Terminal, r api.PeekRequest, out *api.PeekResult) error {
	switch r.Format {
	case "", api.FormatText:
		out.Text = dumpText(t, r)
		if r.Join && !r.Screen {
			out.Lines = lineNumbers(t, out.Text)
		}
	case api.FormatANSI:
		out.Text = dumpANSI(t, r)
	case api.FormatJSON:
		screen := t.Screen()
		out.Screen = &screen
	default:
		return fmt.Errorf("%w: unknown format %q (text, ansi, json)", api.ErrRequest, r.Format)
	}
	return nil
}

// lineNumbers numbers the lines of joined text; nil if they have none.
func lineNumbers(t *vt.Terminal, text string) *api.LineNumbers {
	shown := t.Text(vt.TextOptions{Join: true, ScreenOnly: true})
	if shown == "" || t.Modes().AltScreen {
		return nil
	}
	n := &api.LineNumbers{Closed: t.HistoryTotal()}
	n.Cursor = n.Closed
	for y, line := range t.Screen().Lines {
		if y < t.Cursor().Row && !line.Wrapped {
			n.Cursor++
		}
	}
	n.First = n.Closed + uint64(strings.Count(shown, "\n")) - uint64(strings.Count(text, "\n"))
	return n
}

// dumpText is the peek of FormatText.
func dumpText(t *vt.Terminal, r api.PeekRequest) string {
	if r.Screen && r.Lines <= 0 && !r.Join {
		return t.ScreenText()
	}
	return t.Text(vt.TextOptions{Lines: r.Lines, Join: r.Join, ScreenOnly: r.Screen})
}

// dumpANSI is the peek of FormatANSI: a terminal of the session's size that is fed it
// shows the same.
func dumpANSI(t *vt.Terminal, r api.PeekRequest) string {
	if r.Screen {
		return string(t.AppendPaint(nil, vt.PaintOptions{}))
	}
	return string(t.ANSI())
}

// at returns the terminal as it was at the moment of a request. ErrRequest if
// the recording no longer has it.
func (sc *screen) at(r api.PeekRequest) (*vt.Terminal, error) {
	f, err := sc.s.storage.readRecording()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o := sc.options()
	o.Pages = nil // those are of the screen as it is now
	t, err := vt.New(o)
	if err != nil {
		return nil, err
	}
	sc.prepare(t)
	err = f.Play(t, journal.Moment{At: r.At, Elapsed: r.Elapsed, Output: r.AtOutput})
	if early := new(journal.TooEarlyError); errors.As(err, &early) {
		return nil, fmt.Errorf("%w: the recording of %s begins at %s, earlier output is not kept",
			api.ErrRequest, sc.s.name(), early.Begin.Format(time.RFC3339))
	}
	return t, err
}

package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
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

// findStep is how many lines are searched before others may use the screen.
const findStep = 2000

func handleHistory(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.HistoryRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	if in.Count < 0 || in.Count > api.MaxHistoryLines || len(in.Find) > api.MaxFind {
		return nil, fmt.Errorf("%w: at most %d lines, and %d bytes to find", api.ErrRequest, api.MaxHistoryLines, api.MaxFind)
	}
	out := s.screen.history(in)
	if in.Find == "" {
		return out, nil
	}
	found, err := s.screen.findLine(r.Context(), in)
	out.Found = found
	return out, err
}

// history returns lines of the history.
func (sc *screen) history(r api.HistoryRequest) api.HistoryResult {
	sc.s.mu.Lock()
	defer sc.s.mu.Unlock()
	t := sc.view()
	out := api.HistoryResult{First: t.HistoryFirst(), Closed: t.HistoryTotal()}
	out.From = max(r.From, out.First)
	for n := out.From; len(out.Lines) < r.Count; n++ {
		l, ok := t.HistoryLine(n)
		if !ok {
			break
		}
		out.Lines = append(out.Lines, l)
	}
	if r.Screen {
		screen := t.Screen()
		out.Screen = &screen
		if l, ok := t.OpenLine(); ok && !screen.Modes.AltScreen {
			out.Open = &l
		}
	}
	return out
}

// findLine returns the first line that contains the pattern; nil if none does.
func (sc *screen) findLine(ctx context.Context, r api.HistoryRequest) (*uint64, error) {
	for from := r.From; ; {
		sc.s.mu.Lock()
		found, next, ok, done := sc.view().FindLine(r.Find, r.Fold, from, r.Back, findStep)
		sc.s.mu.Unlock()
		switch {
		case ok:
			return &found, nil
		case done:
			return nil, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		from = next
	}
}

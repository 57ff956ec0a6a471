package mux

import (
	"fmt"

	"gascity.dev/gc/vt"
)

// maxPeeks bounds one request for many sessions.
const maxPeeks = 4096

// peek reads what a session shows.
func (s *session) peek(r PeekRequest) (PeekResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := PeekResult{
		ID: s.rec.ID, Name: s.rec.Name, State: StateRunning, Revision: s.term.Revision(),
		ScreenLost: s.lost, Exit: s.exitCopy(),
	}
	if s.exit != nil {
		out.State = StateExited
	}
	if r.IfRevision != 0 && r.IfRevision == out.Revision {
		out.Unchanged = true
		return out, nil
	}
	switch r.Format {
	case "", FormatText:
		out.Text = s.text(r)
	case FormatANSI:
		out.Text = s.ansi(r)
	case FormatJSON:
		screen := s.term.Screen()
		out.Screen = &screen
	default:
		return PeekResult{}, fmt.Errorf("%w: unknown format %q (text, ansi, json)", ErrRequest, r.Format)
	}
	return out, nil
}

// text is the peek of FormatText. mu is held.
func (s *session) text(r PeekRequest) string {
	if r.Screen && r.Lines <= 0 && !r.Join {
		return s.term.ScreenText()
	}
	return s.term.Text(vt.TextOptions{Lines: r.Lines, Join: r.Join, ScreenOnly: r.Screen})
}

// ansi is the peek of FormatANSI: fed to a terminal of the session's size it
// gives the same picture. mu is held.
func (s *session) ansi(r PeekRequest) string {
	if r.Screen {
		return string(s.term.AppendPaint(nil, vt.PaintOptions{}))
	}
	return string(s.term.ANSI())
}

// peekMany answers many requests; a session that is not there is an entry with
// an error.
func (srv *server) peekMany(rs []PeekRequest) []PeekResult {
	out := make([]PeekResult, len(rs))
	for i, r := range rs {
		s, err := srv.find(r.Name)
		if err == nil {
			out[i], err = s.peek(r)
		}
		if err != nil {
			out[i] = PeekResult{Name: r.Name, Error: remote(err)}
		}
	}
	return out
}

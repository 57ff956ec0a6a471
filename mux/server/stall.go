package server

import (
	"gascity.dev/gc/mux/journal"
	"log/slog"
	"time"
)

// A journal without room for the next snapshot takes no output: that stays with
// the program until there is room again. How often it is tried:
const (
	stallFirst = 50 * time.Millisecond
	stallMost  = 2 * time.Second
)

// stall is how long a session waits for room. The zero value is none.
type stall struct {
	on    bool
	pause time.Duration // before the next try
}

// stalled leaves output with the program for a while. mu is held.
func (s *session) stalled(err error) {
	if s.stall.pause == 0 {
		slog.Warn("output waits", "session", s.rec.ID, "error", err)
	}
	if s.stall.on {
		return
	}
	s.stall.on = true
	s.stall.pause = min(max(2*s.stall.pause, stallFirst), stallMost)
	time.AfterFunc(s.stall.pause, s.unstall)
}

// unstall tries again.
func (s *session) unstall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stall.on = false; s.fd < 0 || s.collected {
		return
	}
	s.show()
	if s.nextSegment(); !s.stall.on {
		s.flowMoved()
	}
}

// end notes that a segment began.
func (st *stall) end() { st.pause = 0 }

// bareSegment begins a segment without the screen, whose snapshot is too large:
// the screen stays as it is, but a new server could not show it. mu is held.
func (s *session) bareSegment(why error) error {
	if s.j.Flags.Or(journal.FlagBare)&journal.FlagBare == 0 {
		slog.Warn("the screen would not survive a crash", "session", s.rec.ID, "error", why)
	}
	var b []byte
	if err := protect(func() { b = s.term.AppendBareSnapshot(nil) }); err != nil {
		return err
	}
	return s.j.Begin(s.hist.Mark(), b)
}

package server

import (
	"log/slog"
	"time"

	"gascity.dev/gc/mux/journal"
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
func (st *storage) stalled(err error) {
	if st.stall.pause == 0 {
		slog.Warn("output waits", "session", st.s.rec.ID, "error", err)
	}
	if st.stall.on {
		return
	}
	st.stall.on = true
	st.stall.pause = min(max(2*st.stall.pause, stallFirst), stallMost)
	time.AfterFunc(st.stall.pause, st.unstall)
}

// unstall tries again.
func (st *storage) unstall() {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.stall.on = false; s.tty.fd < 0 || s.life.collected {
		return
	}
	s.screen.show()
	if st.nextSegment(); !st.stall.on {
		s.output.flowMoved()
	}
}

// end notes that a segment began.
func (st *stall) end() { st.pause = 0 }

// bareSegment begins a segment without the screen, whose snapshot is too large:
// the screen stays as it is, but a new server could not show it. mu is held.
func (st *storage) bareSegment(why error) error {
	if st.journal.Flags.Or(journal.FlagBare)&journal.FlagBare == 0 {
		slog.Warn("the screen would not survive a crash", "session", st.s.rec.ID, "error", why)
	}
	var b []byte
	if err := protect(func() { b = st.s.screen.term.AppendBareSnapshot(nil) }); err != nil {
		return err
	}
	return st.journal.Begin(st.history.Mark(), b)
}

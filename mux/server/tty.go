package server

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/loop"
	"gascity.dev/gc/mux/internal/program"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"golang.org/x/sys/unix"
)

// tty is the server's side of a session's terminal, or of the pipes of a background
// command. session.mu guards it.
type tty struct {
	s     *session
	fd    int    // the terminal's master; -1 after the end
	eof   bool   // the terminal has no more output
	stdin *stdin // nil on a terminal
}

var _ loop.Terminal = (*tty)(nil)

// Lock locks the session.
func (t *tty) Lock() { t.s.mu.Lock() }

// TryLock locks the session if it is not locked.
func (t *tty) TryLock() bool { return t.s.mu.TryLock() }

// Unlock unlocks the session.
func (t *tty) Unlock() { t.s.mu.Unlock() }

// FD returns the terminal's descriptor; -1 after the end. mu is held.
func (t *tty) FD() int { return t.fd }

// Writable wakes the writer that waits for space. mu is held.
func (t *tty) Writable() { t.s.input.writable() }

// Wants reports whether output is to be read, and whether input waits for space. mu is
// held.
func (t *tty) Wants() (output, space bool) {
	return !t.eof && !t.s.output.held(), t.s.input.wantsWrite()
}

// Resumed returns a channel that is closed when output is read again. mu is held.
func (t *tty) Resumed() <-chan struct{} { return t.s.output.resumption() }

// How much one session may read, and for how long, before it is another one's
// turn: a few bytes can cause much work.
const (
	turnBytes = 64 << 10
	turnTime  = 10 * time.Millisecond
)

// closed reports whether the terminal is gone. mu is held.
func (t *tty) closed() bool { return t.fd < 0 }

// close ends the server's use of the terminal. mu is held.
func (t *tty) close() {
	if t.closed() {
		return
	}
	t.s.srv.loop.Remove(t)
	unix.Close(t.fd)
	t.fd = -1
	t.stdin.close()
}

// descriptors returns what the keeper must hold of the terminal. mu is held.
func (t *tty) descriptors() []int {
	switch {
	case t.closed():
		return nil
	case t.stdin.isOpen():
		return []int{t.fd, t.stdin.fd}
	}
	return []int{t.fd}
}

// write writes as much as the terminal takes at once. mu is held.
func (t *tty) write(p []byte) (int, error) { return unix.Write(t.fd, p) }

// unread returns how many bytes the program has not read; known is false where the
// system does not tell. mu is held.
func (t *tty) unread() (n int, known bool) {
	if t.s.rec.Pipes {
		return 0, false
	}
	return sys.UnreadInput(t.fd)
}

// cooked reports whether the terminal edits lines itself, and whether it turns CR into
// LF. A pipe counts as such a terminal. mu is held.
func (t *tty) cooked() (cooked, crnl bool) {
	if t.s.rec.Pipes {
		return true, false
	}
	return sys.CookedMode(t.fd)
}

// setSize gives the terminal a size. mu is held.
func (t *tty) setSize(cols, rows int) error {
	if t.closed() || t.s.rec.Pipes {
		return nil
	}
	ws := unix.Winsize{Col: uint16(cols), Row: uint16(rows)}
	return unix.IoctlSetWinsize(t.fd, unix.TIOCSWINSZ, &ws)
}

// Turn reads what the terminal has, at most turnBytes, and feeds it to the screen. It
// reports whether to call it again. mu is held.
func (t *tty) Turn(writable bool) (again bool) {
	s := t.s
	if t.closed() {
		return false
	}
	if writable {
		s.input.writable()
	}
	if !s.output.held() {
		t.read(turnBytes)
	}
	if t.eof {
		s.input.writable() // writers that wait find out
		if s.life.dead != nil {
			s.life.finish()
		} else if !s.rec.Pipes { // a pipe cannot be opened again
			s.life.later(reopenTime, t.reopened)
		}
		return false
	}
	s.input.flushReplies()
	return true
}

// read reads at most limit bytes into the journal and shows them. It returns their
// number. mu is held.
func (t *tty) read(limit int) int {
	s := t.s
	n, began := 0, time.Now()
	for n < limit && !t.eof && time.Since(began) < turnTime {
		space := s.storage.journal.Space()
		if len(space) < journal.SegmentPad {
			s.screen.show()
			s.storage.nextSegment()
			if space = s.storage.journal.Space(); len(space) < journal.SegmentPad {
				break // the snapshot could not be written: leave the output with the program
			}
		}
		m, err := unix.Read(t.fd, space[:min(len(space), limit-n)])
		if m > 0 {
			s.storage.journal.Commit(m)
			n += m
			s.screen.advance() // while it is in the cache
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			t.eof = true // EIO: every program closed the terminal
		}
		break
	}
	s.screen.show()
	return n
}

// reopenTime is how often to check a terminal that all programs closed while the leader
// lives: one of them may open it again.
const reopenTime = time.Second

// reopened checks such a terminal.
func (t *tty) reopened() {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.dead == nil && !t.closed() {
		t.eof = false
		s.srv.loop.Arm(t)
	}
}

// foreground returns the process group in the foreground; 0 if unknown. mu is held.
func (t *tty) foreground() int {
	if t.closed() || t.s.rec.Pipes {
		return 0
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// signal sends a signal by name to the foreground process group.
func (t *tty) signal(name string) error {
	s := t.s
	sig, err := program.Signal(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.ending() {
		return api.ErrExited
	}
	return t.signalForeground(sig)
}

// signalForeground signals the terminal's foreground process group, or the leader's if
// unknown. mu is held and the leader was not reaped.
func (t *tty) signalForeground(sig unix.Signal) error {
	pgrp := t.foreground()
	if pgrp <= 1 {
		pgrp = t.s.life.pid
	}
	if err := unix.Kill(-pgrp, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal: %w", err)
	}
	return nil
}

// fixSize gives the terminal the screen's size, in case the last server died after it
// resized only one of them. mu is held.
func (t *tty) fixSize() {
	s := t.s
	if s.rec.Pipes {
		return
	}
	ws, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err == nil && (int(ws.Col) != s.screen.cols || int(ws.Row) != s.screen.rows) {
		_ = t.setSize(s.screen.cols, s.screen.rows)
	}
}

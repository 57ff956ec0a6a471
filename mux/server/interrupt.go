package server

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keys"
	"golang.org/x/sys/unix"
)

// A terminal turns Ctrl-C into a signal within a millisecond, unless its input queue is
// full.
const (
	interruptTime  = 100 * time.Millisecond
	interruptQuiet = 50 * time.Millisecond // without unread input
	interruptStep  = 2 * time.Millisecond
	interruptGap   = 200 * time.Millisecond // between two keys
)

// interrupt types Ctrl-C ahead of queued input. If a full input queue keeps it from the
// program, interrupt sends SIGINT to the foreground group.
func (i *input) interrupt() error {
	s := i.s
	i.cancelNudge()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty.closed() || s.life.ended() {
		return api.ErrExited
	}
	i.s.activity.noteInput()
	s.clients.DropDraft()
	s.nudges.Interrupted()
	if s.rec.Pipes {
		return s.tty.signalForeground(unix.SIGINT)
	}
	if len(s.rec.Interrupt) > 0 {
		return i.interruptKeys()
	}
	if unread, _ := s.tty.unread(); unread >= sys.MaxCanonical { // what is typed now waits in the queue
		return s.tty.signalForeground(unix.SIGINT)
	}
	n, err := s.tty.write([]byte{ctrlC})
	if n != 1 {
		if !errors.Is(err, unix.EAGAIN) && err != nil {
			return fmt.Errorf("%w: %w", api.ErrExited, err)
		}
		return s.tty.signalForeground(unix.SIGINT)
	}
	if i.stuck() {
		return s.tty.signalForeground(unix.SIGINT)
	}
	return nil
}

// interruptKeys presses the keys that interrupt this program, with a pause between them:
// two Escapes at once are another key. A full input queue gets none. mu is held, but
// released during pauses.
func (i *input) interruptKeys() error {
	s := i.s
	for i, key := range s.rec.Interrupt {
		if i > 0 {
			s.mu.Unlock()
			time.Sleep(interruptGap)
			s.mu.Lock()
			if s.tty.closed() || s.life.ending() {
				return nil // the program has ended
			}
		}
		b, err := keys.Encode(nil, []string{key}, s.screen.keyModesLocked())
		if err != nil {
			return err
		}
		if n, err := s.tty.write(b); n != len(b) {
			return fmt.Errorf("%w: it took %d of %d bytes of %s: %v", nudge.ErrStuck, max(n, 0), len(b), key, err)
		}
	}
	return nil
}

// stuck reports whether the Ctrl-C did not get through. A terminal that makes it a signal
// drops unread input; any other has space for it. Of cooked input only finished lines are
// counted, so that a full queue shows late, as may input typed just now. mu is held, but
// released during pauses.
func (i *input) stuck() bool {
	s := i.s
	stuck, out, most := false, s.screen.rendered, 0
	if !sys.SignalsInput(s.tty.fd) {
		most = sys.MaxCanonical - 1
	}
	for start := time.Now(); time.Since(start) < interruptTime; {
		unread, known := s.tty.unread()
		stuck = unread > most
		if !known || !stuck && (s.screen.rendered != out || time.Since(start) > interruptQuiet) {
			return false
		}
		s.mu.Unlock()
		time.Sleep(interruptStep)
		s.mu.Lock()
		if s.tty.closed() || s.life.ending() {
			return false
		}
	}
	return stuck
}

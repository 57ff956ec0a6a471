package server

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keys"
	"golang.org/x/sys/unix"
)

// Times for a terminal to make a signal of Ctrl-C: it does so within a
// millisecond, or the Ctrl-C stands behind what does not fit into its queue.
const (
	interruptTime  = 100 * time.Millisecond
	interruptQuiet = 50 * time.Millisecond // with no input that is seen to be unread
	interruptStep  = 2 * time.Millisecond
	interruptGap   = 200 * time.Millisecond // between two keys
)

// interrupt types Ctrl-C past everybody who waits; where a full input queue keeps
// it from the program, the foreground group gets SIGINT.
func (i *input) interrupt() error {
	s := i.s
	i.cancelNudge()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty.closed() || s.life.ended() {
		return api.ErrExited
	}
	i.s.activity.noteInput()
	i.draft.clear()
	if s.rec.Pipes {
		return s.tty.signalForeground(unix.SIGINT)
	}
	if len(s.rec.Interrupt) > 0 {
		return i.interruptKeys()
	}
	if unread, _ := s.tty.unread(); unread >= maxCanonical { // what is typed now waits behind the queue
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

// interruptKeys presses the keys that interrupt this program, with a pause
// between them: two Escapes at once are another key. A full input queue gets
// none. mu is held, but not all the time.
func (i *input) interruptKeys() error {
	s := i.s
	for i, key := range s.rec.Interrupt {
		if i > 0 {
			s.mu.Unlock()
			time.Sleep(interruptGap)
			s.mu.Lock()
			if s.tty.closed() || s.life.ending() {
				return nil // it has ended
			}
		}
		b, err := keys.Encode(nil, []string{key}, s.screen.keyModesLocked())
		if err != nil {
			return err
		}
		if n, err := s.tty.write(b); n != len(b) {
			return fmt.Errorf("%w: it took %d of %d bytes of %s: %v", errStuck, max(n, 0), len(b), key, err)
		}
	}
	return nil
}

// stuck reports whether the Ctrl-C that was typed does not get through: a
// terminal that makes a signal of it drops the input that nobody read, another
// one has room for it. Of cooked input only the finished lines are counted, so
// that a full queue does not show before; and what was typed a moment ago may not
// be counted yet. mu is held, but not all the time.
func (i *input) stuck() bool {
	s := i.s
	stuck, out, most := false, s.screen.rendered, 0
	if !sys.SignalsInput(s.tty.fd) {
		most = maxCanonical - 1
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

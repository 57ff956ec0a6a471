package mux

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/vt"
)

// turnBytes is what one session may have read before another gets its turn.
const turnBytes = 64 << 10

// drainTime is how long output is awaited after the leader's end while another
// process holds the terminal.
const drainTime = 250 * time.Millisecond

// turn reads what the terminal has, at most len(buf) bytes, and feeds it to
// the screen. It reports whether the session still wants to be called.
func (s *session) turn(buf []byte, writable bool) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return false
	}
	if writable {
		s.in.writable()
	}
	n := 0
	for n < len(buf) && !s.eof {
		m, err := unix.Read(s.fd, buf[n:])
		if m > 0 {
			n += m
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			s.eof = true // EIO: the last of the programs closed the terminal
		}
		break
	}
	if n > 0 {
		s.feed(buf[:n])
	}
	if s.eof {
		s.in.writable() // who waits to write finds out
		if s.dead != nil {
			s.finish()
		} else {
			s.drain = time.AfterFunc(reopenTime, s.reopened)
		}
		return false
	}
	s.flushReplies()
	return true
}

// reopenTime is how often a terminal is looked at that all programs closed
// while the leader lives: one of them may open it again.
const reopenTime = time.Second

// reopened looks at such a terminal again.
func (s *session) reopened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead == nil && s.fd >= 0 {
		s.eof = false
		s.srv.loop.armLocked(s)
	}
}

// feed shows bytes of the program to the emulator and to everybody who looks.
// mu is held.
func (s *session) feed(p []byte) {
	s.out += uint64(len(p))
	s.lastOut = time.Now().UnixNano()
	if _, err := s.term.Write(p); err != nil {
		logf("session %s: %v", s.rec.ID, err)
	}
	s.in.addReplies(s.term.TakeReplies())
	for _, e := range s.term.TakeEvents() {
		s.terminalEvent(e)
	}
	for _, c := range s.clients {
		c.output(p, s.out)
	}
	s.watchSync()
	s.broadcast()
}

// syncTime is how long a program may hold back what readers see.
const syncTime = 150 * time.Millisecond

// watchSync ends a synchronized update that its program does not end. mu is
// held.
func (s *session) watchSync() {
	on := s.term.Modes().SyncUpdate
	switch {
	case on && s.sync == nil:
		s.sync = time.AfterFunc(syncTime, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.sync = nil
			s.term.ReleaseSync()
			for _, c := range s.clients {
				c.output(nil, s.out)
			}
			s.broadcast()
		})
	case !on && s.sync != nil:
		s.sync.Stop()
		s.sync = nil
	}
}

// terminalEvent notes what the program told its terminal. mu is held.
func (s *session) terminalEvent(e vt.Event) {
	switch e.Kind {
	case vt.EventBell:
		s.bells += uint64(e.Count)
		s.srv.emit(s, Event{Type: EventBell})
	case vt.EventTitle:
		s.srv.emit(s, Event{Type: EventTitle, Title: e.Text})
	case vt.EventPrompt:
		s.prompt = e.Name == "A" || e.Name == "B"
	}
}

// leaderEnded notes the exit of the leader; the session ends when its output
// is drained.
func (s *session) leaderEnded(e *Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead != nil {
		return
	}
	s.dead = e
	switch {
	case s.stopping:
		e.Reason = ReasonStopped
	case e.Code == 127 || e.Code == 126:
		e.Reason = ReasonNotFound
	}
	if s.eof || s.fd < 0 {
		s.finish()
		return
	}
	if s.drain != nil {
		s.drain.Stop()
	}
	s.drain = time.AfterFunc(drainTime, s.drained)
}

// lastBytes bounds what is read of a terminal when its time is up.
const lastBytes = 4 << 20

// drained ends a session whose terminal is held open by someone else, after
// what is there was read: on a busy machine the loop may not have come to it.
func (s *session) drained() {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := make([]byte, turnBytes)
	for total := 0; total < lastBytes && s.fd >= 0 && s.exit == nil; {
		n, err := unix.Read(s.fd, buf)
		if n > 0 {
			s.feed(buf[:n])
			total += n
		} else if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	s.finish()
}

// finish ends the session. mu is held.
func (s *session) finish() {
	if s.exit != nil {
		return
	}
	if s.drain != nil {
		s.drain.Stop()
	}
	s.exit = s.dead
	if s.fd >= 0 {
		s.srv.loop.remove(s)
		unix.Close(s.fd)
		s.fd = -1
	}
	s.in.writable()
	for _, c := range s.clients {
		c.ended()
	}
	s.broadcast()
	s.srv.sessionEnded(s)
}

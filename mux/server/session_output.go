package server

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// What one session may have read, and how long, before another gets its turn: a
// few bytes can ask for much work.
const (
	turnBytes = 64 << 10
	turnTime  = 10 * time.Millisecond
)

// drainTime is how long output is awaited after the leader's end while another
// process holds the terminal.
const drainTime = 250 * time.Millisecond

// turn reads what the terminal has, at most turnBytes, and feeds it to the
// screen. It reports whether the session still wants to be called. mu is held.
func (s *session) turn(writable bool) (again bool) {
	if s.fd < 0 {
		return false
	}
	if writable {
		s.in.writable()
	}
	if !s.held() {
		s.read(turnBytes)
	}
	if s.eof {
		s.in.writable() // who waits to write finds out
		if s.dead != nil {
			s.finish()
		} else if !s.rec.Pipes { // a pipe is never opened again
			s.drain = time.AfterFunc(reopenTime, s.reopened)
		}
		return false
	}
	s.flushReplies()
	return true
}

// read reads at most limit bytes into the journal and shows them. It returns
// how many came. mu is held.
func (s *session) read(limit int) int {
	n, began := 0, time.Now()
	for n < limit && !s.eof && time.Since(began) < turnTime {
		space := s.j.Space()
		if len(space) < journal.SegmentPad {
			s.show()
			s.nextSegment()
			if space = s.j.Space(); len(space) < journal.SegmentPad {
				break // the snapshot could not be written: output stays with the program
			}
		}
		m, err := unix.Read(s.fd, space[:min(len(space), limit-n)])
		if m > 0 {
			s.j.Commit(m)
			n += m
			s.advance() // while it is in the cache, and the kernel gets the next ready
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
	s.show()
	return n
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
		s.srv.emit(s, api.Event{Type: api.EventBell})
	case vt.EventTitle:
		s.srv.emit(s, api.Event{Type: api.EventTitle, Title: e.Text})
	case vt.EventMarker:
		s.srv.nesting.found(e.Text, s)
	case vt.EventPrompt:
		s.prompt = e.Name == "A" || e.Name == "B"
		if s.prompt {
			s.j.Flags.Or(journal.FlagPrompt)
		} else {
			s.j.Flags.And(^uint64(journal.FlagPrompt))
		}
	}
}

// leaderEnded notes the exit of the leader; the session ends when its output
// is drained.
func (s *session) leaderEnded(e *api.Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead != nil {
		return
	}
	held := s.held()
	s.dead = e
	switch {
	case s.stopping:
		e.Reason = api.ReasonStopped
	case e.Code == 127 || e.Code == 126:
		e.Reason = api.ReasonNotFound
	}
	if s.eof || s.fd < 0 {
		s.finish()
		return
	}
	if s.drain != nil {
		s.drain.Stop()
	}
	s.drain = time.AfterFunc(drainTime, s.drained)
	if held { // what is in the pipe is read now
		s.flowMoved()
	}
}

// lastBytes bounds what is read of a terminal when its time is up.
const lastBytes = 4 << 20

// drained ends a session whose terminal is held open by someone else, after
// what is there was read: on a busy machine the loop may not have come to it.
func (s *session) drained() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for total := 0; total < lastBytes && s.fd >= 0 && s.exit == nil && !s.held(); {
		n := s.read(turnBytes)
		if n == 0 {
			break
		}
		total += n
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
		s.stdin.close()
	}
	s.in.writable()
	s.flow.end()
	for _, c := range s.clients {
		c.ended()
	}
	s.broadcast()
	if s.ended != nil {
		close(s.ended)
	}
	s.srv.sessionEnded(s)
}

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
func (t *tty) turn(writable bool) (again bool) {
	s := t.s
	if t.fd < 0 {
		return false
	}
	if writable {
		s.input.writable()
	}
	if !s.output.held() {
		t.read(turnBytes)
	}
	if t.eof {
		s.input.writable() // who waits to write finds out
		if s.life.dead != nil {
			s.life.finish()
		} else if !s.rec.Pipes { // a pipe is never opened again
			s.life.drain = time.AfterFunc(reopenTime, t.reopened)
		}
		return false
	}
	s.input.flushReplies()
	return true
}

// read reads at most limit bytes into the journal and shows them. It returns
// how many came. mu is held.
func (t *tty) read(limit int) int {
	s := t.s
	n, began := 0, time.Now()
	for n < limit && !t.eof && time.Since(began) < turnTime {
		space := s.storage.journal.Space()
		if len(space) < journal.SegmentPad {
			s.screen.show()
			s.storage.nextSegment()
			if space = s.storage.journal.Space(); len(space) < journal.SegmentPad {
				break // the snapshot could not be written: output stays with the program
			}
		}
		m, err := unix.Read(t.fd, space[:min(len(space), limit-n)])
		if m > 0 {
			s.storage.journal.Commit(m)
			n += m
			s.screen.advance() // while it is in the cache, and the kernel gets the next ready
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			t.eof = true // EIO: the last of the programs closed the terminal
		}
		break
	}
	s.screen.show()
	return n
}

// reopenTime is how often a terminal is looked at that all programs closed
// while the leader lives: one of them may open it again.
const reopenTime = time.Second

// reopened looks at such a terminal again.
func (t *tty) reopened() {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.dead == nil && t.fd >= 0 {
		t.eof = false
		s.srv.loop.armLocked(s)
	}
}

// syncTime is how long a program may hold back what readers see.
const syncTime = 150 * time.Millisecond

// watchSync ends a synchronized update that its program does not end. mu is
// held.
func (sc *screen) watchSync() {
	s := sc.s
	on := sc.term.Modes().SyncUpdate
	switch {
	case on && sc.syncEnd == nil:
		sc.syncEnd = time.AfterFunc(syncTime, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			sc.syncEnd = nil
			sc.term.ReleaseSync()
			for _, c := range s.clients.list {
				c.output(nil, sc.rendered)
			}
			s.broadcast()
		})
	case !on && sc.syncEnd != nil:
		sc.syncEnd.Stop()
		sc.syncEnd = nil
	}
}

// terminalEvent notes what the program told its terminal. mu is held.
func (sc *screen) note(e vt.Event) {
	s := sc.s
	switch e.Kind {
	case vt.EventBell:
		s.activity.bells += uint64(e.Count)
		s.srv.emit(s, api.Event{Type: api.EventBell})
	case vt.EventTitle:
		s.srv.emit(s, api.Event{Type: api.EventTitle, Title: e.Text})
	case vt.EventMarker:
		s.srv.nesting.found(e.Text, s)
	case vt.EventPrompt:
		s.activity.prompt = e.Name == "A" || e.Name == "B"
		if s.activity.prompt {
			s.storage.journal.Flags.Or(journal.FlagPrompt)
		} else {
			s.storage.journal.Flags.And(^uint64(journal.FlagPrompt))
		}
	}
}

// leaderEnded notes the exit of the leader; the session ends when its output
// is drained.
func (l *life) leaderEnded(e *api.Exit) {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.dead != nil {
		return
	}
	held := s.output.held()
	l.dead = e
	switch {
	case l.stopping:
		e.Reason = api.ReasonStopped
	case e.Code == 127 || e.Code == 126:
		e.Reason = api.ReasonNotFound
	}
	if s.tty.eof || s.tty.fd < 0 {
		l.finish()
		return
	}
	if l.drain != nil {
		l.drain.Stop()
	}
	l.drain = time.AfterFunc(drainTime, l.drained)
	if held { // what is in the pipe is read now
		s.output.flowMoved()
	}
}

// lastBytes bounds what is read of a terminal when its time is up.
const lastBytes = 4 << 20

// drained ends a session whose terminal is held open by someone else, after
// what is there was read: on a busy machine the loop may not have come to it.
func (l *life) drained() {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for total := 0; total < lastBytes && s.tty.fd >= 0 && l.exit == nil && !s.output.held(); {
		n := s.tty.read(turnBytes)
		if n == 0 {
			break
		}
		total += n
	}
	l.finish()
}

// finish ends the session. mu is held.
func (l *life) finish() {
	s := l.s
	if l.exit != nil {
		return
	}
	if l.drain != nil {
		l.drain.Stop()
	}
	l.exit = l.dead
	if s.tty.fd >= 0 {
		s.srv.loop.remove(s)
		unix.Close(s.tty.fd)
		s.tty.fd = -1
		s.tty.stdin.close()
	}
	s.input.writable()
	s.output.flow.end()
	for _, c := range s.clients.list {
		c.ended()
	}
	s.broadcast()
	if l.done != nil {
		close(l.done)
	}
	s.srv.sessionEnded(s)
}

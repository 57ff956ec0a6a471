package mux

import (
	"fmt"
	"runtime/debug"
	"time"

	"gascity.dev/gc/vt"
)

// maxTries is how many replays may not come to their end before a session gets
// a fresh screen: a panic ends the first, and what no panic handler catches
// ends the server.
const maxTries = 2

// protect runs f and turns a panic into an error.
func protect(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}

// show feeds the emulator what the journal has beyond s.out, and lets replies
// and events go out. mu is held.
func (s *session) show() {
	p := s.j.from(s.out)
	if len(p) == 0 {
		return
	}
	s.lastOut = time.Now().UnixNano()
	s.j.lastOut.Store(s.lastOut)
	s.srv.resting.use(s)
	end := s.out + uint64(len(p))
	if err := protect(func() { _, _ = s.term.Write(p) }); err != nil {
		s.screenPanic(err)
	}
	s.tape.output(p, s.out)
	s.out = end
	s.effects()
	for _, c := range s.clients {
		c.output(p, s.out)
	}
	s.watchSync()
	s.broadcast()
}

// effects lets out what the emulator wants to say. The cursor moves first: what
// went out is never said again by a replay. mu is held.
func (s *session) effects() {
	s.j.effect.Store(s.out)
	s.in.addReplies(s.term.TakeReplies())
	for _, e := range s.term.TakeEvents() {
		s.terminalEvent(e)
	}
}

// nextSegment begins a new segment of the journal with the screen as it is.
// Every byte so far was shown. mu is held.
func (s *session) nextSegment() {
	var snapshot []byte
	err := protect(func() { snapshot = s.term.Snapshot() })
	if err == nil && len(snapshot) > snapshotMax {
		s.term.ClearHistory() // unreachable with caps below 64 MiB
		err = protect(func() { snapshot = s.term.Snapshot() })
	}
	if err != nil {
		s.screenPanic(err)
		return
	}
	if err := s.j.begin(snapshot, 0); err != nil {
		logf("session %s: %v", s.rec.ID, err)
	}
}

// screenPanic replaces an emulator that panicked: by one that replays the
// journal, or, when that panics too, by a fresh one. mu is held.
func (s *session) screenPanic(err error) {
	logf("session %s: %v", s.rec.ID, err)
	s.panics++
	if s.panics < maxTries {
		if err = s.replay(s.j.end()); err == nil {
			return
		}
		logf("session %s: again: %v", s.rec.ID, err)
	}
	s.loseScreen()
}

// loseScreen gives the session a fresh screen; its output goes on. mu is held.
func (s *session) loseScreen() {
	o := s.options()
	o.Cols, o.Rows = s.cols, s.rows
	t, err := vt.New(o)
	if err != nil {
		logf("session %s: %v", s.rec.ID, err) // the size was checked
		return
	}
	s.term, s.lost, s.panics = t, true, 0
	s.out = s.j.end()
	s.j.flags.Or(flagLost)
	if err := s.j.begin(t.Snapshot(), 0); err != nil {
		logf("session %s: %v", s.rec.ID, err)
	}
	for _, c := range s.clients {
		c.resync()
	}
	s.srv.emit(s, Event{Type: EventLost})
}

// replay makes the screen from the journal, up to an offset, and says nothing.
// mu is held.
func (s *session) replay(upTo uint64) error {
	snapshot, base, data, err := s.j.recovered()
	if err != nil {
		return err
	}
	s.j.tries.Add(1)
	var t *vt.Terminal
	if len(snapshot) == 0 {
		t, err = vt.New(s.options())
	} else {
		t, err = vt.Restore(snapshot, s.options())
	}
	if err != nil {
		return err
	}
	if upTo < base {
		upTo = base
	}
	data = data[:min(uint64(len(data)), upTo-base)]
	err = protect(func() {
		_, _ = t.Write(data)
		t.TakeReplies()
		t.TakeEvents()
	})
	if err != nil {
		return err
	}
	s.j.tries.Store(0)
	s.term, s.out = t, base+uint64(len(data))
	s.cols, s.rows = t.Size()
	return nil
}

// recoverScreen makes the screen of a session whose server died: silently what
// had its effects, then the rest as if it came now.
func (s *session) recoverScreen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastIn, s.lastOut = s.j.lastIn.Load(), s.j.lastOut.Load()
	flags := s.j.flags.Load()
	s.lost, s.prompt = flags&flagLost != 0, flags&flagPrompt != 0
	if s.j.tries.Load() >= maxTries {
		_, _, _, err := s.j.recovered()
		logf("session %s: its screen was lost (%v)", s.rec.ID, err)
		s.j.tries.Store(0)
		s.loseScreen()
		return
	}
	err := s.replay(s.j.effect.Load())
	if err != nil {
		s.screenPanic(err)
		return
	}
	s.startRecording()
	s.show()
}

package server

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
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

// advance feeds the emulator what the journal has beyond s.out. mu is held.
func (s *session) advance() {
	p := s.j.From(s.out)
	if len(p) == 0 {
		return
	}
	if err := protect(func() { feed(s.term, p) }); err != nil {
		s.screenPanic(err)
	}
	s.out = s.j.End()
}

// show brings the screen up to date, and lets everybody know what is new since
// s.told: replies and events go out. mu is held.
func (s *session) show() {
	s.advance()
	if s.out == s.told {
		return
	}
	s.lastOut = s.srv.clock.Now().UnixNano()
	s.j.LastOut.Store(s.lastOut)
	s.srv.resting.use(s)
	s.keep()
	s.effects()
	s.paintRecording()
	p := s.j.From(s.told) // nil when the segment went with the screen
	s.told = s.out
	for _, c := range s.clients {
		c.output(p, s.out)
	}
	s.watchSync()
	s.broadcast()
}

// feed gives a screen its bytes. It may panic.
func feed(t *vt.Terminal, p []byte) {
	feedFault(p)
	_, _ = t.Write(p) // never fails
}

// feedFault is called before a screen is fed; tests replace it to end in the
// middle.
var feedFault = func([]byte) {}

// effects lets out what the emulator wants to say. The cursor moves first: what
// went out is never said again by a replay. mu is held.
func (s *session) effects() {
	s.j.Effect.Store(s.out)
	if replies := s.term.TakeReplies(); !s.rec.Pipes { // a pipe is no terminal: nobody waits for answers
		s.in.addReplies(replies)
	}
	events := s.term.TakeEvents()
	s.noteActivity(events)
	for _, e := range events {
		s.terminalEvent(e)
	}
}

// nextSegment begins a new segment of the journal with the screen as it is.
// Every byte so far was shown. mu is held.
func (s *session) nextSegment() {
	buf, _ := snapshots.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer snapshots.Put(buf)
	if err := protect(func() { *buf = s.term.AppendSnapshot((*buf)[:0]) }); err != nil {
		s.screenPanic(err)
		return
	}
	s.beginSegment(*buf)
}

// smallSegment begins a segment for a time in which nothing comes, where that
// takes less memory: output of more than a page, or a snapshot as a busy session
// has it, is replaced by a deflated snapshot. mu is held.
func (s *session) smallSegment() {
	i := s.j.Current()
	now := journal.WholePages(s.j.Length[i].Load()) + journal.WholePages(s.j.Snap[i].Load())
	if now <= journal.SegmentPad || s.small == s.j.Place() || s.out != s.j.End() {
		return
	}
	var b []byte
	if err := protect(func() { b = vt.DeflateSnapshot(s.term.SnapshotPages()) }); err != nil {
		s.screenPanic(err)
		return
	}
	if journal.WholePages(uint64(len(b))) < now {
		s.beginSegment(b)
	}
	s.small = s.j.Place()
}

// snapshots are buffers, *[]byte, for the next snapshot.
var snapshots sync.Pool

// beginSegment begins a new segment with a snapshot of all that was shown. mu
// is held.
func (s *session) beginSegment(snapshot []byte) {
	err := s.j.Begin(s.hist.Mark(), snapshot)
	if errors.Is(err, api.ErrTooLarge) {
		err = s.bareSegment(err)
	} else if err == nil {
		s.j.Flags.And(^uint64(journal.FlagBare))
	}
	if err != nil {
		s.stalled(err)
		return
	}
	s.stall.end()
	s.opened = slices.Clone(s.term.Pending())
	s.hist.Marked()
}

// screenPanic replaces an emulator that panicked: by one that replays the
// journal, or, when that panics too, by a fresh one. mu is held.
func (s *session) screenPanic(err error) {
	slog.Error("the screen panicked", "session", s.rec.ID, "error", err)
	s.panics++
	if s.panics < maxTries {
		if err = s.replay(s.j.End()); err == nil {
			return
		}
		slog.Error("the screen panicked again", "session", s.rec.ID, "error", err)
	}
	s.loseScreen()
}

// loseScreen gives the session a fresh screen; its output goes on. mu is held.
func (s *session) loseScreen() {
	o := s.options()
	o.Cols, o.Rows = s.cols, s.rows
	t, err := vt.New(o)
	if err != nil {
		slog.Error("cannot make a screen", "session", s.rec.ID, "error", err) // the size was checked
		return
	}
	s.prepare(t)
	s.term, s.lost, s.panics = t, true, 0
	s.noteRemade()
	s.out = s.j.End()
	s.j.Flags.Or(journal.FlagLost)
	s.j.Tries.Store(0)
	s.keep()
	s.tape.Gap()
	s.beginSegment(t.SnapshotPages())
	for _, c := range s.clients {
		c.resync()
	}
	s.srv.emit(s, api.Event{Type: api.EventLost})
}

// replay makes the screen from the journal, up to an offset, and says nothing.
// mu is held.
func (s *session) replay(upTo uint64) error {
	left, err := s.j.Recovered()
	if err != nil {
		return err
	}
	if err := s.hist.Restore(left.Mark); err != nil {
		return err
	}
	s.j.Tries.Add(1)
	t, err := s.restored(left.Snapshot)
	if err != nil {
		return err
	}
	s.opened = slices.Clone(t.Pending())
	base, data := left.Base, left.Data
	if upTo < base {
		upTo = base
	}
	data = data[:min(uint64(len(data)), upTo-base)]
	var told []vt.Event
	err = protect(func() {
		feed(t, data)
		t.TakeReplies()
		told = t.TakeEvents()
	})
	if err != nil {
		return err
	}
	s.j.Tries.Store(0)
	s.term, s.out = t, base+uint64(len(data))
	s.noteRemade()
	s.cols, s.rows = t.Size()
	s.noteActivity(told)
	return nil
}

// noteRemade counts screens that were made anew: a replay feeds in one piece what
// came in many, so that its revisions are others. mu is held.
func (s *session) noteRemade() {
	s.remade = s.j.Flags.Add(1<<journal.RemadeShift) >> journal.RemadeShift
	s.broadcast()
}

// revision changes whenever the screen does. No two screens of a session have the
// same, whatever servers it had, and none has 0; those of another session of the
// name have others but for one chance in a million. mu is held.
func (s *session) revision() uint64 {
	return (s.first+s.remade)<<journal.RemadeShift + s.term.Revision() + 1
}

// restored makes a terminal of a snapshot, or a fresh one of none.
func (s *session) restored(snapshot []byte) (t *vt.Terminal, err error) {
	if len(snapshot) == 0 {
		if t, err = vt.New(s.options()); err == nil {
			s.prepare(t)
		}
		return t, err
	}
	panicked := protect(func() { t, err = vt.Restore(snapshot, s.options()) })
	return t, errors.Join(panicked, err)
}

// killedTry is what a replay counts in slot.tries that ended because somebody
// killed the server: many of them are needed to look like a replay's fault (one
// that takes all memory ends so too).
const (
	killedTry      = 1 << 32
	maxKilledTries = 1000
)

// guilty reports whether the replay of this session is what ended servers: it
// is not tried again. mu is held.
func (s *session) guilty() bool {
	n := s.j.Tries.Load()
	if crashed := n % killedTry; s.srv.killed && crashed > 0 {
		n += killedTry - 1
		s.j.Tries.Store(n)
	}
	return n%killedTry >= maxTries || n/killedTry >= maxKilledTries
}

// recoverScreen makes the screen of a session whose server died: silently what
// had its effects, then the rest as if it came now. mu is held.
func (s *session) recoverScreen() {
	s.lastIn, s.lastOut = s.j.LastIn.Load(), s.j.LastOut.Load()
	flags := s.j.Flags.Load()
	s.recoverActivity()
	s.lost, s.prompt = flags&(journal.FlagLost|journal.FlagBare) != 0, flags&journal.FlagPrompt != 0
	if flags&journal.FlagBare != 0 {
		s.j.Flags.Or(journal.FlagLost)
	}
	s.startRecording()
	if s.guilty() {
		_, err := s.j.Recovered()
		slog.Error("the screen is lost", "session", s.rec.ID, "error", err)
		s.loseScreen()
	} else if err := s.replay(s.j.Effect.Load()); err != nil {
		s.screenPanic(err)
	}
	s.told = s.out
	s.tape.Resize(s.cols, s.rows) // the last server may have been killed before it did
	s.paintRecording()
	s.keep() // also where nothing is left to be shown
	s.show()
	s.srv.resting.use(s) // the screen is whole in memory, also when nothing comes any more
}

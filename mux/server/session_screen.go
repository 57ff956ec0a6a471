package server

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// screen is a session's emulator and how far it came. session.mu guards it.
type screen struct {
	s          *session
	term       *vt.Terminal
	cols, rows int    // in force
	rendered   uint64 // offset of the output that the screen shows
	published  uint64 // offset of the output that clients and readers know of
	epoch      uint64 // first part of the revisions; differs between incarnations of a name
	remade     uint64 // how often term was replaced, over all servers
	lost       bool   // the screen was lost
	panics     int
	usedAt     int64       // last write or read, Unix nanoseconds
	inUse      bool        // server.resting knows it
	syncEnd    *time.Timer // runs during a synchronized update
}

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
func (sc *screen) advance() {
	p := sc.s.storage.journal.From(sc.rendered)
	if len(p) == 0 {
		return
	}
	if err := protect(func() { feed(sc.term, p) }); err != nil {
		sc.panicked(err)
	}
	sc.rendered = sc.s.storage.journal.End()
}

// show brings the screen up to date, and lets everybody know what is new since
// s.told: replies and events go out. mu is held.
func (sc *screen) show() {
	s := sc.s
	sc.advance()
	if sc.rendered == sc.published {
		return
	}
	s.activity.lastOut = s.srv.clock.Now().UnixNano()
	s.storage.journal.LastOut.Store(s.activity.lastOut)
	s.srv.resting.use(s)
	s.storage.keep()
	sc.effects()
	s.storage.paintRecording()
	p := s.storage.journal.From(sc.published) // nil when the segment went with the screen
	sc.published = sc.rendered
	for _, c := range s.clients.list {
		c.output(p, sc.rendered)
	}
	sc.watchSync()
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
func (sc *screen) effects() {
	s := sc.s
	s.storage.journal.Effect.Store(sc.rendered)
	if replies := sc.term.TakeReplies(); !s.rec.Pipes { // a pipe is no terminal: nobody waits for answers
		s.input.addReplies(replies)
	}
	events := sc.term.TakeEvents()
	s.activity.note(events)
	for _, e := range events {
		sc.note(e)
	}
}

// nextSegment begins a new segment of the journal with the screen as it is.
// Every byte so far was shown. mu is held.
func (st *storage) nextSegment() {
	buf, _ := snapshots.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer snapshots.Put(buf)
	if err := protect(func() { *buf = st.s.screen.term.AppendSnapshot((*buf)[:0]) }); err != nil {
		st.s.screen.panicked(err)
		return
	}
	st.beginSegment(*buf)
}

// smallSegment begins a segment for a time in which nothing comes, where that
// takes less memory: output of more than a page, or a snapshot as a busy session
// has it, is replaced by a deflated snapshot. mu is held.
func (st *storage) compactSegment() {
	s := st.s
	i := st.journal.Current()
	now := journal.WholePages(st.journal.Length[i].Load()) + journal.WholePages(st.journal.Snap[i].Load())
	if now <= journal.SegmentPad || st.compactAt == st.journal.Place() || s.screen.rendered != st.journal.End() {
		return
	}
	var b []byte
	if err := protect(func() { b = vt.DeflateSnapshot(s.screen.term.SnapshotPages()) }); err != nil {
		s.screen.panicked(err)
		return
	}
	if journal.WholePages(uint64(len(b))) < now {
		st.beginSegment(b)
	}
	st.compactAt = st.journal.Place()
}

// snapshots are buffers, *[]byte, for the next snapshot.
var snapshots sync.Pool

// beginSegment begins a new segment with a snapshot of all that was shown. mu
// is held.
func (st *storage) beginSegment(snapshot []byte) {
	err := st.journal.Begin(st.history.Mark(), snapshot)
	if errors.Is(err, api.ErrTooLarge) {
		err = st.bareSegment(err)
	} else if err == nil {
		st.journal.Flags.And(^uint64(journal.FlagBare))
	}
	if err != nil {
		st.stalled(err)
		return
	}
	st.stall.end()
	st.pending = slices.Clone(st.s.screen.term.Pending())
	st.history.Marked()
}

// screenPanic replaces an emulator that panicked: by one that replays the
// journal, or, when that panics too, by a fresh one. mu is held.
func (sc *screen) panicked(err error) {
	s := sc.s
	slog.Error("the screen panicked", "session", s.rec.ID, "error", err)
	sc.panics++
	if sc.panics < maxTries {
		if err = sc.replay(s.storage.journal.End()); err == nil {
			return
		}
		slog.Error("the screen panicked again", "session", s.rec.ID, "error", err)
	}
	sc.lose()
}

// loseScreen gives the session a fresh screen; its output goes on. mu is held.
func (sc *screen) lose() {
	s := sc.s
	o := sc.options()
	o.Cols, o.Rows = sc.cols, sc.rows
	t, err := vt.New(o)
	if err != nil {
		slog.Error("cannot make a screen", "session", s.rec.ID, "error", err) // the size was checked
		return
	}
	sc.prepare(t)
	sc.term, sc.lost, sc.panics = t, true, 0
	sc.noteRemade()
	sc.rendered = s.storage.journal.End()
	s.storage.journal.Flags.Or(journal.FlagLost)
	s.storage.journal.Tries.Store(0)
	s.storage.keep()
	s.storage.recording.Gap()
	s.storage.beginSegment(t.SnapshotPages())
	for _, c := range s.clients.list {
		c.resync()
	}
	s.srv.emit(s, api.Event{Type: api.EventLost})
}

// replay makes the screen from the journal, up to an offset, and says nothing.
// mu is held.
func (sc *screen) replay(upTo uint64) error {
	s := sc.s
	left, err := s.storage.journal.Recovered()
	if err != nil {
		return err
	}
	if err := s.storage.history.Restore(left.Mark); err != nil {
		return err
	}
	s.storage.journal.Tries.Add(1)
	t, err := sc.restored(left.Snapshot)
	if err != nil {
		return err
	}
	s.storage.pending = slices.Clone(t.Pending())
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
	s.storage.journal.Tries.Store(0)
	sc.term, sc.rendered = t, base+uint64(len(data))
	sc.noteRemade()
	sc.cols, sc.rows = t.Size()
	s.activity.note(told)
	return nil
}

// noteRemade counts screens that were made anew: a replay feeds in one piece what
// came in many, so that its revisions are others. mu is held.
func (sc *screen) noteRemade() {
	sc.remade = sc.s.storage.journal.Flags.Add(1<<journal.RemadeShift) >> journal.RemadeShift
	sc.s.broadcast()
}

// revision changes whenever the screen does. No two screens of a session have the
// same, whatever servers it had, and none has 0; those of another session of the
// name have others but for one chance in a million. mu is held.
func (sc *screen) revision() uint64 {
	return (sc.epoch+sc.remade)<<journal.RemadeShift + sc.term.Revision() + 1
}

// restored makes a terminal of a snapshot, or a fresh one of none.
func (sc *screen) restored(snapshot []byte) (t *vt.Terminal, err error) {
	if len(snapshot) == 0 {
		if t, err = vt.New(sc.options()); err == nil {
			sc.prepare(t)
		}
		return t, err
	}
	panicked := protect(func() { t, err = vt.Restore(snapshot, sc.options()) })
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
func (sc *screen) guilty() bool {
	s := sc.s
	n := s.storage.journal.Tries.Load()
	if crashed := n % killedTry; s.srv.killed && crashed > 0 {
		n += killedTry - 1
		s.storage.journal.Tries.Store(n)
	}
	return n%killedTry >= maxTries || n/killedTry >= maxKilledTries
}

// recoverScreen makes the screen of a session whose server died: silently what
// had its effects, then the rest as if it came now. mu is held.
func (sc *screen) recover() {
	s := sc.s
	s.activity.lastIn, s.activity.lastOut = s.storage.journal.LastIn.Load(), s.storage.journal.LastOut.Load()
	flags := s.storage.journal.Flags.Load()
	s.activity.restore()
	sc.lost, s.activity.prompt = flags&(journal.FlagLost|journal.FlagBare) != 0, flags&journal.FlagPrompt != 0
	if flags&journal.FlagBare != 0 {
		s.storage.journal.Flags.Or(journal.FlagLost)
	}
	s.storage.startRecording()
	if sc.guilty() {
		_, err := s.storage.journal.Recovered()
		slog.Error("the screen is lost", "session", s.rec.ID, "error", err)
		sc.lose()
	} else if err := sc.replay(s.storage.journal.Effect.Load()); err != nil {
		sc.panicked(err)
	}
	sc.published = sc.rendered
	s.storage.recording.Resize(sc.cols, sc.rows) // the last server may have been killed before it did
	s.storage.paintRecording()
	s.storage.keep() // also where nothing is left to be shown
	sc.show()
	s.srv.resting.use(s) // the screen is whole in memory, also when nothing comes any more
}

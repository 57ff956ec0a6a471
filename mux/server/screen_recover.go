package server

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// maxTries is how many replays may fail before a session gets a fresh screen. The first
// ends in a panic; a fault that no handler catches ends the server.
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

// panicked replaces an emulator that panicked by one that replays the journal or, if that
// panics too, by a fresh one. mu is held.
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

// lose gives the session a fresh screen; its output continues. mu is held.
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
	s.clients.Resync()
	s.srv.events.emit(s, api.Event{Type: api.EventLost})
}

// replay makes the screen from the journal up to an offset, without effects. mu is held.
func (sc *screen) replay(upTo uint64) error {
	s := sc.s
	left, err := s.storage.journal.Recovered()
	if err != nil {
		return err
	}
	if err := s.storage.history.Restore(left.History); err != nil {
		return err
	}
	s.storage.journal.Tries.Add(1)
	t, err := sc.restored(left.Snapshot)
	if err != nil {
		return err
	}
	s.storage.notePending(t)
	base, data := left.Base, left.Data
	if upTo < base {
		upTo = base
	}
	data = data[:min(uint64(len(data)), upTo-base)]
	var events []vt.Event
	err = protect(func() {
		feed(t, data)
		t.TakeReplies()
		events = t.TakeEvents()
	})
	if err != nil {
		return err
	}
	s.storage.journal.Tries.Store(0)
	sc.term, sc.rendered = t, base+uint64(len(data))
	sc.noteRemade()
	sc.cols, sc.rows = t.Size()
	s.activity.note(events)
	return nil
}

// noteRemade counts replaced screens: a replay feeds in one piece the output
// that came in many, so its revisions differ. mu is held.
func (sc *screen) noteRemade() {
	sc.remade = sc.s.storage.journal.Flags.Add(1<<journal.RemadeShift) >> journal.RemadeShift
	sc.s.broadcast()
}

// restored makes a terminal from a snapshot; a fresh one if that is empty.
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

// recover makes the screen of a session whose server died: first, silently,
// from output whose effects were published, then from the rest as if it came
// now. mu is held.
func (sc *screen) recover() {
	s := sc.s
	flags := s.storage.journal.Flags.Load()
	s.activity.restore()
	sc.lost = flags&(journal.FlagLost|journal.FlagBare) != 0
	if flags&journal.FlagBare != 0 {
		s.storage.journal.Flags.Or(journal.FlagLost)
	}
	s.storage.startRecording()
	if s.storage.guilty() {
		_, err := s.storage.journal.Recovered()
		slog.Error("the screen is lost", "session", s.rec.ID, "error", err)
		sc.lose()
	} else if err := sc.replay(s.storage.journal.Effect.Load()); err != nil {
		sc.panicked(err)
	}
	sc.published = sc.rendered
	s.storage.recording.Resize(sc.cols, sc.rows) // the last server may have been killed before it could
	s.storage.paintRecording()
	s.storage.keep() // also if nothing is left to show
	sc.show()
	s.srv.compactor.use(s) // the screen is unpacked in memory, even if nothing follows
}

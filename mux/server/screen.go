package server

import (
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// screen is a session's emulator and how far it came. session.mu guards it.
type screen struct {
	s          *session
	term       *vt.Terminal
	cols, rows int    // current size
	rendered   uint64 // offset of the output that the screen shows
	published  uint64 // offset of the output that clients and readers know of
	epoch      uint64 // first part of revisions; differs between incarnations of a name
	remade     uint64 // how often term was replaced, over all servers
	lost       bool   // the screen was lost
	panics     int
	usedAt     int64       // last write or read, Unix nanoseconds
	inUse      bool        // the compactor has it
	syncEnd    *time.Timer // runs during a synchronized update
}

// advance feeds the emulator the journal's bytes after rendered. mu is held.
func (sc *screen) advance() {
	p := sc.s.storage.journal.From(sc.rendered)
	if len(p) == 0 {
		return
	}
	if err := protect(func() { feed(sc.term, p) }); err != nil {
		sc.panicked(err)
	}
	sc.s.srv.counts.output.Add(uint64(len(p)))
	sc.rendered = sc.s.storage.journal.End()
}

// show brings the screen up to date and publishes what is new: replies, events, and
// output for clients. mu is held.
func (sc *screen) show() {
	s := sc.s
	sc.advance()
	if sc.rendered == sc.published {
		return
	}
	s.activity.noteOutput()
	s.srv.compactor.use(s)
	s.storage.keep()
	sc.effects()
	s.storage.paintRecording()
	p := s.storage.journal.From(sc.published) // nil if the segment was lost with the screen
	sc.published = sc.rendered
	s.clients.Output(p)
	sc.watchSync()
	s.broadcast()
}

// feed gives a screen its bytes. It may panic.
func feed(t *vt.Terminal, p []byte) {
	feedFault(p)
	_, _ = t.Write(p) // never fails
}

// feedFault is called before a screen is fed; tests replace it to fail there.
var feedFault = func([]byte) {}

// effects publishes the emulator's replies and events. The journal's cursor moves first,
// so that no replay publishes them again. mu is held.
func (sc *screen) effects() {
	s := sc.s
	s.storage.journal.Effect.Store(sc.rendered)
	if replies := sc.term.TakeReplies(); !s.rec.Pipes { // nothing reads answers from a pipe
		s.input.addReplies(replies)
	}
	events := sc.term.TakeEvents()
	s.activity.note(events)
	for _, e := range events {
		sc.note(e)
	}
}

// revision changes whenever the screen does. It is unique per session across servers and
// never 0; two sessions of the same name share one with a chance of one in a million. mu
// is held.
func (sc *screen) revision() uint64 {
	return (sc.epoch+sc.remade)<<journal.RemadeShift + sc.term.Revision() + 1
}

// setHost notes the terminal that shows the screen, and reports it to a program that
// asked for that. mu is held.
func (sc *screen) setHost(o vt.HostTerminal) {
	sc.term.SetHostTerminal(o)
	sc.report()
}

// report writes the emulator's replies that no output caused. mu is held.
func (sc *screen) report() {
	s := sc.s
	if replies := sc.term.TakeReplies(); len(replies) > 0 && !s.rec.Pipes {
		s.input.addReplies(replies)
		s.input.flushReplies()
	}
}

// resize changes the size of the emulator first, then of the journal, then of the
// terminal, so that output for the new size meets the new screen, now and in a replay. mu
// is held.
func (sc *screen) resize(cols, rows int) error {
	s := sc.s
	if cols == sc.cols && rows == sc.rows {
		return nil
	}
	if err := sc.term.Resize(cols, rows); err != nil {
		return err
	}
	sc.cols, sc.rows = cols, rows
	sc.report()
	s.storage.nextSegment()
	s.storage.recording.Resize(cols, rows)
	if err := s.tty.setSize(cols, rows); err != nil {
		return err
	}
	s.clients.Resync()
	s.broadcast()
	s.srv.events.emit(s, api.Event{Type: api.EventResized, Size: &api.Size{Cols: cols, Rows: rows}})
	return nil
}

// options are the terminal's options.
func (sc *screen) options() vt.Options {
	s := sc.s
	return vt.Options{
		Cols: s.rec.Cols, Rows: s.rec.Rows, HistoryLines: s.rec.HistLines, HistoryBytes: s.rec.HistBytes,
		Version: "gc " + s.srv.settings.version, Pages: s.storage.history, Pipe: s.rec.Pipes,
	}
}

// prepare makes a fresh terminal show what comes through a pipe, whose lines end with LF
// alone (LNM, ECMA-48 7.2.10).
func (sc *screen) prepare(t *vt.Terminal) {
	if sc.s.rec.Pipes {
		_, _ = t.Write([]byte("\x1b[20h"))
	}
}

func (sc *screen) clearHistory() {
	s := sc.s
	s.mu.Lock()
	defer s.mu.Unlock()
	sc.term.ClearHistory()
	if !s.life.collected {
		s.storage.nextSegment()
	}
	s.broadcast()
}

// watchSync ends a synchronized update that lasts too long. mu is held.
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
			s.clients.Output(nil)
			s.broadcast()
		})
	case !on && sc.syncEnd != nil:
		sc.syncEnd.Stop()
		sc.syncEnd = nil
	}
}

// syncTime is how long a program may hold back its screen.
const syncTime = 150 * time.Millisecond

// note handles an event of the emulator. mu is held.
func (sc *screen) note(e vt.Event) {
	s := sc.s
	switch e.Kind {
	case vt.EventBell:
		s.activity.bells += uint64(e.Count)
		s.srv.events.emit(s, api.Event{Type: api.EventBell})
	case vt.EventTitle:
		s.srv.events.emit(s, api.Event{Type: api.EventTitle, Title: e.Text})
	case vt.EventMarker:
		s.srv.nesting.Found(e.Text, viewed{s})
	case vt.EventPrompt:
		s.activity.notePrompt(e.Name == "A" || e.Name == "B")
	}
}

// compact compacts the session's memory if it was not used since a time.
func (sc *screen) compact(since int64) {
	s := sc.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if sc.usedAt > since && !s.life.collected {
		return
	}
	s.srv.compactor.done(s)
	if s.life.collected {
		return
	}
	s.storage.compactSegment()
	s.storage.journal.Release()
	if len(sc.term.Pending()) > 0 {
		return // an unfinished sequence needs its bytes
	}
	if err := protect(sc.term.Pack); err != nil {
		sc.panicked(err)
	}
	s.srv.compactor.trim.Note()
}

// noteUse notes that the screen was written or read, and reports whether the compactor
// knows. mu is held.
func (sc *screen) noteUse() (known bool) {
	known = sc.inUse
	sc.usedAt, sc.inUse = time.Now().UnixNano(), true
	return known
}

// noteCompacted undoes noteUse. mu is held.
func (sc *screen) noteCompacted() { sc.inUse = false }

// view returns the terminal for reading. It stays unpacked in memory until the next
// compact. mu is held.
func (sc *screen) view() *vt.Terminal {
	s := sc.s
	if !s.life.collected {
		s.srv.compactor.use(s)
	}
	return sc.term
}

// keyModes returns the modes that change what keys send.
func (sc *screen) keyModes() keys.Modes {
	sc.s.mu.Lock()
	defer sc.s.mu.Unlock()
	return sc.keyModesLocked()
}

// keyModesLocked is keyModes for callers that hold mu.
func (sc *screen) keyModesLocked() keys.Modes {
	m := sc.term.Modes()
	return keys.Modes{
		AppCursor: m.AppCursor, AppKeypad: m.AppKeypad, NewLine: m.NewLine,
		BackarrowSendsBS: m.BackarrowSendsBS, ModifyOtherKeys: m.ModifyOtherKeys, KittyFlags: m.KittyFlags,
	}
}

package server

import (
	"strings"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
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
	s.activity.noteOutput()
	s.srv.compactor.use(s)
	s.storage.keep()
	sc.effects()
	s.storage.paintRecording()
	p := s.storage.journal.From(sc.published) // nil when the segment went with the screen
	sc.published = sc.rendered
	s.clients.output(p)
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

// revision changes whenever the screen does. No two screens of a session have the
// same, whatever servers it had, and none has 0; those of another session of the
// name have others but for one chance in a million. mu is held.
func (sc *screen) revision() uint64 {
	return (sc.epoch+sc.remade)<<journal.RemadeShift + sc.term.Revision() + 1
}

// setHost tells the screen what shows it, and its program when that asked to be
// told. mu is held.
func (sc *screen) setHost(o vt.HostTerminal) {
	sc.term.SetHostTerminal(o)
	sc.report()
}

// report writes what the screen has to say without new output. mu is held.
func (sc *screen) report() {
	s := sc.s
	if replies := sc.term.TakeReplies(); len(replies) > 0 && !s.rec.Pipes {
		s.input.addReplies(replies)
		s.input.flushReplies()
	}
}

// resize puts a size in force: the emulator first, then the journal, then the
// terminal, so that what the program writes for the new size meets the new
// screen, now and in a replay. mu is held.
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
	s.clients.resync()
	s.broadcast()
	s.srv.events.emit(s, api.Event{Type: api.EventResized, Size: &api.Size{Cols: cols, Rows: rows}})
	return nil
}

// terminal options that every session shares.
func (sc *screen) options() vt.Options {
	s := sc.s
	return vt.Options{
		Cols: s.rec.Cols, Rows: s.rec.Rows, HistoryLines: s.rec.HistLines, HistoryBytes: s.rec.HistBytes,
		Version: "gc " + s.srv.settings.version, Pages: s.storage.history, Pipe: s.rec.Pipes,
	}
}

// prepare makes a fresh terminal show what comes through a pipe: its lines end
// with LF alone (LNM, ECMA-48 7.2.10).
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
			s.clients.output(nil)
			s.broadcast()
		})
	case !on && sc.syncEnd != nil:
		sc.syncEnd.Stop()
		sc.syncEnd = nil
	}
}

// syncTime is how long a program may hold back what readers see.
const syncTime = 150 * time.Millisecond

// note notes what the program told its terminal. mu is held.
func (sc *screen) note(e vt.Event) {
	s := sc.s
	switch e.Kind {
	case vt.EventBell:
		s.activity.bells += uint64(e.Count)
		s.srv.events.emit(s, api.Event{Type: api.EventBell})
	case vt.EventTitle:
		s.srv.events.emit(s, api.Event{Type: api.EventTitle, Title: e.Text})
	case vt.EventMarker:
		s.srv.nesting.found(e.Text, s)
	case vt.EventPrompt:
		s.activity.notePrompt(e.Name == "A" || e.Name == "B")
	}
}

// compact makes the session's memory small when it was not used since the time.
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
		return // a sequence is half written: its bytes are not given back
	}
	if err := protect(sc.term.Pack); err != nil {
		sc.panicked(err)
	}
	s.srv.compactor.trim.Note()
}

// view is the session's terminal for who reads what it shows. From then on it
// is whole in memory, until the session rests again. mu is held.
func (sc *screen) view() *vt.Terminal {
	s := sc.s
	if !s.life.collected {
		s.srv.compactor.use(s)
	}
	return sc.term
}

// keyModes are the modes in force that change what keys send.
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

// dialog is what stands on the screen for somebody to answer, or a line that
// may belong to it. mu is held.
func (sc *screen) dialog() (rule.Found, bool) {
	return status.DialogViewOf(sc.view(), sc.s.rec.Ready).Find(sc.s.srv.settings.dialogs)
}

// standing reports whether the end of a text stands on the cursor's line, or
// wraps onto it; where a program paints a cursor of its own, whether it stands in
// the composer. mu is held.
func (sc *screen) standing(print string) bool {
	cursor := sc.term.Cursor()
	above := ""
	if cursor.Row > 0 {
		above = squeeze(sc.view().Line(cursor.Row - 1))
	}
	if stands(print, above, squeeze(sc.view().Line(cursor.Row))) {
		return true
	}
	draft, ok := sc.drawnDraft()
	return ok && print != "" && strings.Contains(squeeze(draft), print)
}

// drawnDraft returns the text in the composer of a program that paints its own
// cursor; ok is false if none is in sight, or a menu is in its place. mu is held.
func (sc *screen) drawnDraft() (text string, ok bool) {
	if sc.s.rec.Ready == "" || sc.term.Cursor().Visible {
		return "", false
	}
	if found, ok := sc.dialog(); ok && len(found.Options) > 0 {
		return "", false
	}
	return status.DialogViewOf(sc.view(), sc.s.rec.Ready).Draft()
}

// hasFirst reports whether the message of the command line is on the screen, and
// not as a draft. mu is held.
func (sc *screen) hasFirst() bool {
	shown := strings.Count(squeeze(sc.view().ScreenText()), sc.s.rec.First)
	if draft, ok := status.DialogViewOf(sc.view(), sc.s.rec.Ready).Draft(); ok {
		shown -= strings.Count(squeeze(draft), sc.s.rec.First)
	}
	return shown > 0
}

package attach

import (
	"bytes"
	"context"
	"encoding/base64"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach/copymode"
	"gascity.dev/gc/mux/attach/menu"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// cover says what a person's terminal shows: the session, or something over it. Output of
// the session that comes meanwhile is not written; a paint brings the terminal up to date.
type cover int

const (
	bare    cover = iota
	covered       // something else is shown
	lifted        // it is gone, and the paint of the session is to come
)

// lift is what a paint of the session must follow.
func (t *hostTerminal) lift() {
	t.out.Lock()
	defer t.out.Unlock()
	t.cover = lifted
}

// uncover lets the session be written again if a paint of it was to come.
func (t *hostTerminal) uncover() bool {
	t.out.Lock()
	defer t.out.Unlock()
	if t.cover != lifted {
		return false
	}
	t.cover, t.noticed = bare, false
	p := vt.AppendResetModes(nil)
	if t.answers() {
		p = append(p, followColors...)
	}
	_, _ = t.w.Write(p) // the paint reports a terminal that is gone
	return true
}

// overwrite writes what is shown over the session.
func (t *hostTerminal) overwrite(p []byte) {
	t.out.Lock()
	defer t.out.Unlock()
	t.cover = covered
	t.mu.Lock()
	t.written = true
	t.mu.Unlock()
	_, _ = t.w.Write(p) // the next paint reports a terminal that is gone
}

// isLifted reports whether a paint of the session is to come.
func (t *hostTerminal) isLifted() bool {
	t.out.Lock()
	defer t.out.Unlock()
	return t.cover == lifted
}

// isBare reports whether the terminal shows the session.
func (t *hostTerminal) isBare() bool {
	t.out.Lock()
	defer t.out.Unlock()
	return t.cover == bare
}

// panel is what is shown over a session.
type panel interface {
	Key(pressed []keys.Identity) (left bool, chosen string)
	Resize(cols, rows int)
	Paint(dst []byte) []byte
}

// over is what is shown over the session, and takes what the person types. One goroutine
// draws it, so that a terminal that takes no bytes does not keep the keys from working.
type over struct {
	a    *attachment
	draw notice // something changed

	mu     sync.Mutex
	panel  panel  // nil: nothing is shown
	opened bool   // the panel is not drawn yet
	lift   bool   // the session must be painted again
	clip   []byte // for the terminal's clipboard
	typing notice // the person typed

	// Used by the goroutine that reads keys.
	scan  keys.Scanner
	after []byte // typed after the panel was left
	to    string // the session that the person chose
}

func newOver(a *attachment) *over {
	return &over{a: a, draw: newNotice(), typing: newNotice()}
}

// show shows a panel.
func (o *over) show(p panel) {
	o.mu.Lock()
	o.panel, o.opened = p, true
	o.mu.Unlock()
	o.draw.note()
}

// leave shows the session again.
func (o *over) leave() {
	o.mu.Lock()
	o.panel, o.lift = nil, true
	o.mu.Unlock()
	o.typing.note()
	o.draw.note()
}

// shown reports whether a panel is shown.
func (o *over) shown() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.panel != nil
}

// paintTime is how long the server may take to paint; then it is asked by a new connection.
const paintTime = 5 * time.Second

// run draws until the attachment ends.
func (o *over) run() {
	var late <-chan time.Time
	for {
		select {
		case <-o.a.ctx.Done():
			return
		case <-o.draw:
			if o.step() {
				late = time.After(paintTime)
			}
		case <-late:
			if o.a.screen.isLifted() {
				o.a.link.drop()
			}
		}
	}
}

// again draws the panel anew: something else was written to the terminal.
func (o *over) again() {
	o.mu.Lock()
	o.opened = true
	o.mu.Unlock()
	o.draw.note()
}

// say shows a message in copy mode. It does not wait for a reading of the history.
func (o *over) say(text string) {
	if !o.mu.TryLock() {
		return
	}
	defer o.mu.Unlock()
	if v, ok := o.panel.(*copyView); ok {
		v.Say(text)
		o.draw.note()
	}
}

// step draws the panel, or asks for a paint of the session.
func (o *over) step() (asked bool) {
	cols, rows := o.a.screen.size()
	if cols == 0 {
		cols, rows = fallbackCols, fallbackRows
	}
	o.mu.Lock()
	p, lift, clip := o.panel, o.lift, o.clip
	var frame []byte
	if p != nil {
		if o.opened {
			frame = append(vt.AppendResetModes(nil), "\x1b[?1049h"...)
		}
		p.Resize(cols, rows)
		frame = p.Paint(frame)
	}
	o.opened, o.lift = false, false
	if p == nil {
		o.clip = nil
	}
	o.mu.Unlock()
	switch {
	case p != nil:
		o.a.screen.overwrite(frame)
	case lift:
		if len(clip) > 0 {
			o.a.screen.overwrite(clip)
		}
		o.a.screen.lift()
		o.a.link.spoil()
		o.a.sender.repaint.note()
		return true
	}
	return false
}

// The size of a terminal that does not tell it.
const fallbackCols, fallbackRows = 80, 24

// typed gives input to the panel, and returns what is for the session.
func (o *over) typed(p []byte) []byte {
	if len(p) > 0 {
		o.typing.note()
	}
	if !o.shown() {
		return p
	}
	o.after = o.after[:0]
	o.scan.Feed(p, o.take)
	if !o.shown() && o.scan.Pending() {
		o.after = append(o.after, o.scan.Buf...)
		o.scan = keys.Scanner{}
	}
	return o.after
}

// flush is typed when no byte came for a moment.
func (o *over) flush() []byte {
	o.after = o.after[:0]
	o.scan.Flush(o.take)
	return o.after
}

// pending reports whether an unfinished key is held.
func (o *over) pending() bool { return o.scan.Pending() }

// take gives a token to the panel.
func (o *over) take(tok keys.Token) {
	o.mu.Lock()
	p := o.panel
	if o.to != "" { // this attachment is over
		o.mu.Unlock()
		return
	}
	if p == nil {
		o.after = append(o.after, tok.Data...)
		o.mu.Unlock()
		return
	}
	left, chosen := false, ""
	if v, ok := p.(*copyView); ok && tok.Kind == keys.TokenPaste {
		v.Paste(bytes.TrimSuffix(tok.Data, []byte(keys.PasteEnd)))
	} else if event, pressed := keys.Decode(tok); event == keys.EventKey && len(pressed) > 0 {
		left, chosen = p.Key(pressed)
		if ok && len(v.copied) > 0 {
			o.clip = clipboard(v.copied)
		}
	}
	if chosen != "" {
		o.to = chosen
	} else if left {
		o.panel, o.lift = nil, true
	}
	o.mu.Unlock()
	o.typing.note()
	o.draw.note()
}

// clipboard returns what puts a text into the terminal's clipboard (OSC 52).
func clipboard(text string) []byte {
	return append(base64.StdEncoding.AppendEncode([]byte("\x1b]52;c;"), []byte(text)), "\x1b\\"...)
}

// copyView is copy mode as a panel.
type copyView struct {
	*copymode.Model
	copied string
}

// Key implements panel.
func (v *copyView) Key(pressed []keys.Identity) (left bool, chosen string) {
	done := v.Model.Key(pressed)
	v.copied = done.Text
	return done.Left, ""
}

// carryOut carries out a command; false if the attachment ends. rest was typed after it.
func (a *attachment) carryOut(do Do, rest []byte) bool {
	a.over.typing.note()
	switch do {
	case DoDetach:
		a.leave(rest)
		return false
	case DoRefresh:
		if a.over.shown() {
			a.over.draw.note()
		} else {
			a.over.leave()
		}
	case DoHelp:
		a.over.show(menu.NewPage(a.o.Keys.Help(), fallbackCols, fallbackRows))
	case DoCopy:
		a.openCopy()
	case DoSwitch:
		a.openSwitch()
	}
	return true
}

// readTime bounds a question to the server while the person waits.
const readTime = 3 * time.Second

// openCopy shows copy mode.
func (a *attachment) openCopy() {
	if _, ok := a.over.copying(); ok {
		return
	}
	source := historySource{a}
	out, err := source.ask(api.HistoryRequest{Screen: true})
	if err != nil || out.Screen == nil {
		a.over.show(menu.NewPage(trouble("the history cannot be read", err), fallbackCols, fallbackRows))
		return
	}
	cols, rows := a.screen.size()
	if cols == 0 {
		cols, rows = fallbackCols, fallbackRows
	}
	at := copymode.Moment{First: out.First, Closed: out.Closed, Open: out.Open, Screen: *out.Screen}
	a.over.show(&copyView{Model: copymode.New(source, at, a.o.Keys.Copy, cols, rows)})
}

// copying returns copy mode if it is shown.
func (o *over) copying() (*copyView, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, ok := o.panel.(*copyView)
	return v, ok
}

// trouble is a page about an error.
func trouble(what string, err error) []string {
	if err == nil {
		err = api.ErrRequest
	}
	return []string{"gc: " + what, err.Error(), "", "any key leaves this page"}
}

// openSwitch shows the sessions to choose from.
func (a *attachment) openSwitch() {
	if a.o.Choices == nil {
		a.over.show(menu.NewPage([]string{"gc: there is nothing to switch to here", "", "any key leaves this page"}, fallbackCols, fallbackRows))
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, readTime)
	defer cancel()
	items, err := a.o.Choices(ctx)
	if err != nil {
		a.over.show(menu.NewPage(trouble("the sessions cannot be listed", err), fallbackCols, fallbackRows))
		return
	}
	a.over.show(menu.NewList("attach to (type to search, Enter switches, Escape leaves)", items, fallbackCols, fallbackRows))
}

// hold keeps the session from being written, until a paint.
func (t *hostTerminal) hold() {
	t.out.Lock()
	defer t.out.Unlock()
	if t.cover == bare {
		t.cover = lifted
	}
}

// welcomed shows the session again unless a panel is shown by now.
func (o *over) welcomed() {
	o.mu.Lock()
	o.lift = o.panel == nil
	o.mu.Unlock()
	o.draw.note()
}

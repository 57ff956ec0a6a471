package vt

import "bytes"

// frozen is what readers see while a synchronized update (mode 2026) is on:
// the screen as it was before.
type frozen struct {
	screen
	alt     bool
	x, y    int
	pending bool
	modes   modeSet
	title   string
	lines   uint64 // lines of history then, by number
	open    []byte // text of the history's open line then
	flags   lineFlags
}

var syncOn, syncOff = []byte("\x1b[?2026h"), []byte("\x1b[?2026l")

// syncMode begins or ends a synchronized update. Nothing is copied when the
// bytes being written end the update too: no reader comes between.
func (t *Terminal) syncMode(on bool) {
	if !on {
		t.endSync()
		return
	}
	if t.modes&modeSync != 0 {
		return
	}
	src := t.parser.src
	if end := bytes.LastIndex(src, syncOff); end < 0 || bytes.LastIndex(src, syncOn) > end {
		t.freeze()
	}
	t.modes |= modeSync
}

// freeze copies what readers see.
func (t *Terminal) freeze() {
	f := t.spare
	t.spare = nil
	if f == nil {
		f = &frozen{}
	}
	rows := f.rows
	if len(rows) != len(t.scr.rows) {
		rows = make([]row, len(t.scr.rows))
	}
	for y := range rows {
		src, dst := t.scr.row(y), &rows[y]
		cells := dst.cells[:0]
		*dst = *src
		dst.cells = append(cells, src.cells[:src.used]...)
	}
	*f = frozen{
		screen: screen{rows: rows, moved: t.scr.moved}, alt: t.scr == &t.alt,
		x: t.x, y: t.y, pending: t.pending, modes: t.modes, title: t.title, open: f.open[:0],
	}
	if len(rows) == 0 {
		f.rows = nil
	}
	if h := t.hist; h != nil {
		f.lines = h.next()
		f.open = append(f.open, h.openText(&t.main)...)
		f.flags = h.open.flags
	}
	t.frozen = f
}

// endSync shows readers the screen as it is.
func (t *Terminal) endSync() {
	t.modes &^= modeSync
	if t.frozen != nil {
		t.spare, t.frozen = t.frozen, nil
		t.changed = true
	}
}

// ReleaseSync ends a synchronized update that its program has not ended. The
// owner calls it 150 ms after Modes().SyncUpdate became true.
func (t *Terminal) ReleaseSync() {
	if t.modes&modeSync != 0 {
		t.endSync()
		t.commit()
	}
}

// seen is the screen that readers see.
func (t *Terminal) seen() *screen {
	if t.packed != nil {
		t.unpack()
	}
	if t.frozen != nil {
		return &t.frozen.screen
	}
	return t.scr
}

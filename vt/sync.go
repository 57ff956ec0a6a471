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
	lines   uint64 // history lines at that time
	open    []byte // text of the history's open line at that time
	flags   lineFlags
	live    live
}

// live is what readers see immediately, even during a synchronized update.
type live struct {
	modes   Modes
	workDir string
	shape   int
}

// follow reports whether the live part has changed since the last call.
func (f *frozen) follow(t *Terminal) bool {
	was := f.live
	f.live = live{t.Modes(), t.WorkDir(), t.cursorNumber()}
	return f.live != was
}

// syncOff ends a synchronized update. It is searched for without CSI, with
// which many sequences begin.
var (
	csiStart = []byte("\x1b[")
	syncOff  = []byte("?2026l")
)

// syncEnd returns where the sequence that ends an update begins in p, or -1.
func syncEnd(p []byte) int {
	for at := 0; ; at++ {
		i := bytes.Index(p[at:], syncOff)
		if i < 0 {
			return -1
		}
		if at += i; bytes.HasSuffix(p[:at], csiStart) {
			return at - len(csiStart)
		}
	}
}

// syncMode begins or ends a synchronized update. Nothing is copied if the bytes
// being written also end it: no reader can run in between.
func (t *Terminal) syncMode(on bool) {
	if !on {
		t.endSync()
		return
	}
	if t.modes&modeSync != 0 {
		return
	}
	if !t.endsSoon() {
		t.freeze()
	}
	t.modes |= modeSync
}

// endsSoon reports whether the update is certain to end within the bytes being
// written: its end is there, preceded only by text and control sequences, so no
// string can swallow it.
func (t *Terminal) endsSoon() bool {
	src := t.parser.src[t.parser.pos:]
	end := syncEnd(src)
	if end < 0 || t.eightBit() {
		return false
	}
	for src = src[:end]; ; src = src[1:] {
		i := bytes.IndexByte(src, 0x1b)
		if i < 0 {
			break
		}
		if src = src[i:]; len(src) > 1 && src[1] != '[' {
			return false
		}
	}
	src = t.parser.src[t.parser.pos:][:end]
	for i := bytes.IndexByte(src, 0xc2); i >= 0; i = bytes.IndexByte(src, 0xc2) {
		if src = src[i+1:]; len(src) == 0 || src[0] < 0xa0 {
			return false
		}
	}
	return true
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
		n := int(src.used)
		if src.flags&rowWrapped != 0 { // its end may have been blanked since
			n = len(src.cells)
		}
		dst.cells = append(cells, src.cells[:n]...)
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

// endSync shows readers the current screen.
func (t *Terminal) endSync() {
	t.modes &^= modeSync
	if t.frozen != nil {
		t.spare, t.frozen = t.frozen, nil
		t.changed = true
	}
}

// ReleaseSync ends a synchronized update that the program has not ended. The
// owner calls it 150 ms after Modes().SyncUpdate became true.
func (t *Terminal) ReleaseSync() {
	if t.modes&modeSync != 0 {
		t.endSync()
		t.commit()
	}
}

// seen returns the screen that readers see.
func (t *Terminal) seen() *screen {
	if t.packed != nil {
		t.unpack()
	}
	if t.frozen != nil {
		return &t.frozen.screen
	}
	return t.scr
}

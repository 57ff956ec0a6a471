package vt

// PaintOptions say how AppendPaint paints.
type PaintOptions struct {
	Cols, Rows int  // size of the outer terminal; 0 = the session's
	Scrollback bool // write the history first, so that it scrolls off outside

	// Again says that the outer terminal shows an earlier state, perhaps with
	// half a sequence behind it: its modes are reset first, in the same
	// synchronized update and without scrolling.
	Again bool
	// Content says that it shows an earlier paint with the same Modes for the
	// same size, which is not the session's: only what it shows is written, in
	// place, so that nothing flickers.
	Content bool
}

// AppendPaint appends what shows the live state on an outer terminal whose
// modes are reset (AppendReset): the screens, modes, cursor, rendition and
// title, so that the program's further output does there what it does here.
// The outer screen is cleared first. When the outer terminal is smaller, the
// part with the cursor is shown; a wide character that does not fit is cut.
func (t *Terminal) AppendPaint(dst []byte, o PaintOptions) []byte {
	if o.Cols <= 0 {
		o.Cols = t.cols
	}
	if o.Rows <= 0 {
		o.Rows = t.rows
	}
	t.seen()
	p := painter{t: t, b: dst, plain: true}
	if o.Content {
		return p.content(o)
	}
	if o.Again {
		p.str(cutOuter)
	}
	p.str("\x1b[?2026h")
	if o.Again {
		p.str(resetOuter)
	}
	p.str("\x1b[m\x1b[H\x1b[2J")
	if o.Scrollback {
		p.str("\x1b[3J")
		p.history(0, 0)
		p.scrollOff(o.Rows)
	}
	if t.frozen != nil {
		p.paintFrozen(t.frozen, o)
	}
	if t.scr == &t.alt {
		s := &t.main.saved
		p.window(&t.main, o, s.y)
		p.kittyFlags(&t.main.kitty)
		p.csi("H", clampRow(s.y, s.y, o, t)+1, min(s.x, o.Cols-1)+1)
		p.str("\x1b[?1049h\x1b[H\x1b[2J")
	}
	p.window(t.scr, o, t.y)
	p.kittyFlags(&t.scr.kitty)
	p.outerModes(o)
	p.title(t.title)
	p.cursorOuter(t.scr, t.x, t.y, t.pending, o)
	if t.modes&modeOrigin != 0 && o.Cols == t.cols && o.Rows == t.rows {
		p.str("\x1b[?6h")
		p.moveTo(t.x, t.y, true)
	}
	p.charsetsOuter()
	p.pen(&t.pen)
	if t.modes&modeSync == 0 {
		p.str("\x1b[?2026l")
	}
	return p.b
}

// paintFrozen shows what readers see during a synchronized update, and begins
// that update outside, for what has been done since.
func (p *painter) paintFrozen(f *frozen, o PaintOptions) {
	if f.alt {
		p.str("\x1b[?1049h\x1b[H\x1b[2J")
	}
	p.window(&f.screen, o, f.y)
	p.title(f.title)
	p.mode(25, f.modes&modeVisible != 0)
	p.mode(12, f.modes&modeBlink != 0)
	p.mode(12, f.modes&modeBlink != 0)
	p.cursorOuter(&f.screen, f.x, f.y, f.pending, o)
	p.look(look{})
	p.str("\x1b[?2026l\x1b[?2026h\x1b[?25h\x1b[?12h")
	if f.alt {
		p.str("\x1b[?1049l")
	}
	p.str("\x1b[H\x1b[2J")
}

func (p *painter) title(s string) {
	if s != "" {
		p.str("\x1b]2;" + s + "\x1b\\")
	}
}

// cursorOuter puts the outer cursor, waiting to wrap if this one does.
func (p *painter) cursorOuter(s *screen, x, y int, pending bool, o PaintOptions) {
	p.look(look{})
	p.csi("H", clampRow(y, y, o, p.t)+1, min(x, o.Cols-1)+1)
	if !pending || o.Cols != p.t.cols || p.t.modes&(modeInsert|modeOrigin) != 0 {
		return
	}
	c := s.view(y).at(x)
	if c.isTail() {
		c = s.view(y).at(x - 1)
		p.str("\b")
	}
	if c&cellContent != 0 {
		p.setLook(c)
		p.b = appendContent(p.b, p.t, c)
	}
}

// clampRow is the row of the outer terminal where row y is shown when the
// window must have row cursor in it.
func clampRow(y, cursor int, o PaintOptions, t *Terminal) int {
	return min(max(y-windowTop(cursor, o, t), 0), o.Rows-1)
}

// windowTop is the first row shown: the last rows that have the cursor.
func windowTop(cursor int, o PaintOptions, t *Terminal) int {
	if o.Rows >= t.rows {
		return 0
	}
	return min(max(cursor-o.Rows+1, 0), t.rows-o.Rows)
}

// scrollOff ends the history and moves it off an outer screen.
func (p *painter) scrollOff(rows int) {
	p.look(look{})
	p.str("\r\n")
	p.csi("H", rows, 1)
	for range rows {
		p.str("\n")
	}
	p.str("\x1b[H\x1b[2J")
}

// window writes the part of a screen that an outer terminal has room for, row
// by row: nothing of it relies on wrapping.
func (p *painter) window(s *screen, o PaintOptions, cursor int) {
	top := windowTop(cursor, o, p.t)
	for y := range min(o.Rows, p.t.rows) {
		p.windowRow(s.view(top+y), y, o)
	}
	p.look(look{})
}

// windowRow writes what the outer row y shows of r.
func (p *painter) windowRow(r *row, y int, o PaintOptions) {
	n := min(r.length(), o.Cols)
	if n == 0 {
		return
	}
	if n < int(r.used) && r.cells[n].isTail() {
		n--
	}
	p.csi("H", y+1, 1)
	full := *r
	full.flags &^= rowWrapped
	p.prev = nil
	p.row(&full, 0, n, false, true)
}

// outerModes sets the modes that differ from a reset terminal's, and margins
// when the sizes are the same.
func (p *painter) outerModes(o PaintOptions) {
	t := p.t
	for _, n := range [...]int{1, 5, 7, 9, 25, 45, 66, 67, 1000, 1002, 1003, 1004, 1005, 1006,
		1007, 1015, 1016, 2004} {
		if m := decMode(n); (t.modes^defaultModes)&m != 0 {
			p.mode(n, t.modes&m != 0)
		}
	}
	if t.modes&modeInsert != 0 {
		p.str("\x1b[4h")
	}
	if t.modes&modeLNM != 0 {
		p.str("\x1b[20h")
	}
	if o.Cols == t.cols && o.Rows == t.rows {
		p.margins()
		p.tabs()
	}
	if e := t.extra; e != nil {
		if e.cursorKind != 0 {
			p.csi(" q", int(e.cursorKind))
		}
	}
	p.blink()
	if e := t.extra; e != nil {
		if v := e.modKeys[4]; v != 0 {
			p.b = append(appendInt(append(p.b, "\x1b[>4;"...), int(v)), 'm')
		}
	}
}

// blink follows DECSCUSR when mode 12 has changed what that said.
func (p *painter) blink() {
	t := p.t
	said := t.extra == nil || t.extra.cursorKind == 0 || t.extra.cursorKind&1 == 1
	if on := t.modes&modeBlink != 0; on != said {
		p.mode(12, on)
	}
}

// charsetsOuter designates what is not ASCII.
func (p *painter) charsetsOuter() {
	if p.t.chars != (charsets{}) {
		p.charsets(&p.t.chars)
	}
}

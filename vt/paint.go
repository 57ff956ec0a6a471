package vt

// PaintOptions configure AppendPaint.
type PaintOptions struct {
	Cols, Rows int  // size of the host terminal; 0 = the session's
	Scrollback bool // write the history first, so that it ends up in the host's scrollback

	// Again means that the host terminal shows an earlier state, perhaps in the
	// middle of a sequence: its modes are reset first, in the same synchronized
	// update and without scrolling.
	Again bool
	// Content means that it shows an earlier paint with the same Modes and
	// size, a size other than the session's: only the content is written, in
	// place, to avoid flicker.
	Content bool
}

// AppendPaint appends what shows the current state on a host terminal with
// reset modes (AppendModes): screens, modes, cursor, rendition and title, so
// that further output has the same effect there as here. The host screen is
// cleared first. If the host terminal is smaller, the part around the cursor is
// shown; a wide character that does not fit is cut.
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
		p.str(cutHost)
	}
	p.str("\x1b[?2026h")
	if o.Again {
		p.str(resetHost)
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
	p.hostModes(o)
	p.title(t.title)
	p.lasting(o.Again)
	p.hostCursor(t.scr, t.x, t.y, t.pending, o)
	if t.modes&modeOrigin != 0 && o.Cols == t.cols && o.Rows == t.rows {
		p.str("\x1b[?6h")
		p.moveTo(t.x, t.y, true)
	}
	p.hostCharsets()
	p.pen(&t.pen)
	if t.modes&modeSync == 0 {
		p.str("\x1b[?2026l")
	}
	return p.b
}

// paintFrozen shows what readers see during a synchronized update, and begins
// that update on the host terminal for what has been drawn since.
func (p *painter) paintFrozen(f *frozen, o PaintOptions) {
	if f.alt {
		p.str("\x1b[?1049h\x1b[H\x1b[2J")
	}
	p.window(&f.screen, o, f.y)
	p.title(f.title)
	p.mode(25, f.modes&modeVisible != 0)
	p.mode(12, f.modes&modeBlink != 0)
	p.mode(12, f.modes&modeBlink != 0)
	p.hostCursor(&f.screen, f.x, f.y, f.pending, o)
	p.rendition(rendition{})
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

// hostCursor places the host cursor, with a pending wrap if this one has it.
func (p *painter) hostCursor(s *screen, x, y int, pending bool, o PaintOptions) {
	p.rendition(rendition{})
	p.csi("H", clampRow(y, y, o, p.t)+1, min(x, o.Cols-1)+1)
	if !pending || o.Cols != p.t.cols || p.t.modes&(modeInsert|modeOrigin) != 0 {
		return
	}
	c := s.view(y).at(x)
	if c.isTail() {
		c = s.view(y).at(x - 1)
		p.str("\b")
	}
	p.character(c)
}

// clampRow is the host row that shows row y while the window contains row
// cursor.
func clampRow(y, cursor int, o PaintOptions, t *Terminal) int {
	return min(max(y-windowTop(cursor, o, t), 0), o.Rows-1)
}

// windowTop is the first row shown: the last rows that contain the cursor.
func windowTop(cursor int, o PaintOptions, t *Terminal) int {
	if o.Rows >= t.rows {
		return 0
	}
	return min(max(cursor-o.Rows+1, 0), t.rows-o.Rows)
}

// scrollOff ends the history and scrolls it off the host screen.
func (p *painter) scrollOff(rows int) {
	p.rendition(rendition{})
	p.str("\r\n")
	p.csi("H", rows, 1)
	for range rows {
		p.str("\n")
	}
	p.str("\x1b[H\x1b[2J")
}

// window writes the part of a screen that fits the host terminal, row by row. Rows that
// continue do so on a host terminal of the same width, too.
func (p *painter) window(s *screen, o PaintOptions, cursor int) {
	top := windowTop(cursor, o, p.t)
	rows := min(o.Rows, p.t.rows)
	for y := range rows {
		r := s.view(top + y)
		p.windowRow(r, y, o)
		if y+1 < rows && p.continues(r, s.view(top+y+1), o) {
			p.wrapOnHost(r, s.view(top+y+1), y)
		}
	}
	p.rendition(rendition{})
}

// windowRow writes the part of r that host row y shows.
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
	p.prev = p.prev[:0]
	p.row(&full, 0, n, false, true)
}

// continues reports whether r continues on next, and a host terminal wraps there: the
// characters on both sides have the same width everywhere and do not join.
func (p *painter) continues(r, next *row, o PaintOptions) bool {
	if r.flags&rowWrapped == 0 || o.Cols != p.t.cols || o.Cols < 2 {
		return false
	}
	last, first := r.at(p.t.lastColumn(r)), next.at(0)
	text, below := appendContent(nil, p.t, last), appendContent(nil, p.t, first)
	return sameEverywhere(text, last.isWide()) && sameEverywhere(below, first.isWide()) && !joinsText(text, below)
}

// wrapOnHost makes the host terminal wrap from its row y: it writes the last character of
// r again, in its place, and then the first one of next. No other character is relied on,
// because a host terminal may give it another width.
func (p *painter) wrapOnHost(r, next *row, y int) {
	x := p.t.lastColumn(r)
	last, first := r.at(x), next.at(0)
	p.csi("H", y+1, x+1)
	if last.kind() != cellSpacer || !first.isWide() {
		p.character(last)
	}
	p.character(first)
}

// lastColumn is where the last character of a full row begins.
func (t *Terminal) lastColumn(r *row) int {
	if r.at(t.cols - 1).isTail() {
		return t.cols - 2
	}
	return t.cols - 1
}

// sameEverywhere reports whether a cell's text has its width under every policy.
func sameEverywhere(text []byte, wide bool) bool {
	width := 1
	if wide {
		width = 2
	}
	return len(text) == 0 || remakes(text, width, false) && remakes(text, width, true)
}

// character writes a cell; a blank one as a space.
func (p *painter) character(c cell) {
	p.setRendition(c)
	if c&cellContent == 0 {
		p.str(" ")
	}
	p.b = appendContent(p.b, p.t, c)
}

// hostModes sets the modes that differ from a reset terminal's, and the
// margins if the sizes are equal.
func (p *painter) hostModes(o PaintOptions) {
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
		if t.tabs != nil || o.Again && t.lasted&lastingTabs != 0 { // few terminals know DECST8C
			p.everyTab()
		}
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

// blink follows DECSCUSR if mode 12 has changed its blinking.
func (p *painter) blink() {
	t := p.t
	said := t.extra == nil || t.extra.cursorKind == 0 || t.extra.cursorKind&1 == 1
	if on := t.modes&modeBlink != 0; on != said {
		p.mode(12, on)
	}
}

// hostCharsets designates the character sets other than ASCII.
func (p *painter) hostCharsets() {
	if p.t.chars != (charsets{}) {
		p.charsets(&p.t.chars)
	}
}

package vt

// kittyFlags writes the stack of keyboard flags of the current screen.
func (p *painter) kittyFlags(k *kittyStack) {
	if *k == (kittyStack{}) {
		return
	}
	stack := append(append([]uint8(nil), k.below[:k.n]...), k.flags)
	for i, f := range stack {
		if i == 0 {
			p.str("\x1b[=")
		} else {
			p.str("\x1b[>")
		}
		p.b = append(appendInt(p.b, int(f)), 'u')
	}
}

// savedPlace restores cursor, pen, character sets and origin mode as saved.
func (p *painter) savedPlace(scr *screen) {
	s := &scr.saved
	p.charsets(&s.chars)
	if s.origin {
		p.str("\x1b[?6h")
	}
	p.moveTo(s.x, s.y, s.origin)
	if p.savedWaits(scr) {
		p.again(scr, s.x, s.y, true, &s.chars)
		p.unwrite(scr, s.x, s.y, s.origin)
		p.printModes()
	}
	p.pen(&s.pen)
}

// savedWaits reports whether the saved cursor has a pending wrap that writing
// can reproduce.
func (p *painter) savedWaits(scr *screen) bool {
	s, t := &scr.saved, p.t
	return s.pending && s.x == t.cols-1 && s.y < t.rows && t.right == t.cols-1 &&
		scr.view(s.y).at(s.x).kind() != cellSpacer
}

// printModes sets again the modes that rejoin and again reset.
func (p *painter) printModes() {
	if !p.modesSet {
		return
	}
	if p.t.modes&modeInsert != 0 {
		p.str("\x1b[4h")
	}
	if p.t.modes&modeAutowrap == 0 {
		p.str("\x1b[?7l")
	}
}

// savedCursor writes the saved cursor of the current screen (DECSC).
func (p *painter) savedCursor(s *screen) {
	if s.saved == (saved{}) {
		return
	}
	p.margins()
	p.savedPlace(s)
	p.str("\x1b7")
	if s.saved.origin {
		p.str("\x1b[?6l")
	}
}

// moveTo addresses a cell, relative to the margins in origin mode.
func (p *painter) moveTo(x, y int, origin bool) {
	if origin {
		x, y = max(x-p.t.left, 0), max(y-p.t.top, 0)
	}
	p.csi("H", y+1, x+1)
}

func (p *painter) pen(pen *pen) {
	l := rendition{style: pen.style, bits: pen.attr & (cellProtected | cellSem)}
	if id := pen.attr.link(); id != 0 {
		l.link = p.t.links.get(uint32(id))
	}
	p.rendition(l)
}

// protect guards what follows, or not, by the function that the program used last.
func (p *painter) protect(on bool) {
	switch {
	case p.t.modes&modeISOProtect == 0 && on:
		p.str("\x1b[1\"q")
	case p.t.modes&modeISOProtect == 0:
		p.str("\x1b[0\"q")
	case on:
		p.str("\x1bV")
	default:
		p.str("\x1bW")
	}
}

// charsets designates and invokes the sets.
func (p *painter) charsets(c *charsets) {
	for i, s := range c.g {
		p.str("\x1b")
		p.b = append(p.b, '('+byte(i))
		switch {
		case s == '%'|0x80:
			p.str("%6")
		case s == 0:
			p.str("B")
		default:
			p.b = append(p.b, byte(s))
		}
	}
	p.str([...]string{"\x0f", "\x0e", "\x1bn", "\x1bo"}[c.gl&3])
	if c.gr != 0 {
		p.str([...]string{"", "\x1b~", "\x1b}", "\x1b|"}[c.gr&3])
	}
}

// toggles are the modes written verbatim, by number.
var toggles = [...]int{1, 5, 7, 9, 12, 25, 40, 42, 45, 66, 67, 95, 1000, 1002, 1003, 1004,
	1005, 1006, 1007, 1015, 1016, 1045, 2004, 2027, 2031, 2033, 2048}

// restModes writes what differs from a fresh terminal: modes, margins, tab
// stops, titles, colours, keyboard resources.
func (p *painter) restModes() {
	t := p.t
	p.modesSet = true
	fresh := defaultModes
	for _, n := range toggles {
		m := decMode(n)
		if n != 2027 && (t.modes^fresh)&m != 0 {
			p.mode(n, t.modes&m != 0)
		}
	}
	if t.modes&modeInsert != 0 {
		p.str("\x1b[4h")
	}
	if t.modes&modeLNM != 0 {
		p.str("\x1b[20h")
	}
	if t.modes&modeISOProtect != 0 {
		p.str("\x1bV")
		p.protect(p.bits&cellProtected != 0)
	}
	p.tabs()
	p.margins()
	p.rare()
	if t.title != "" || t.extra != nil && len(t.extra.titles) > 0 {
		p.str("\x1b]0;" + t.title + "\x1b\\")
	}
	if t.extra != nil && t.extra.icon != "" {
		p.str("\x1b]1;" + t.extra.icon + "\x1b\\")
	}
}

// margins sets the margins if they are not the whole screen.
func (p *painter) margins() {
	t := p.t
	if t.modes&modeLRMM != 0 {
		p.str("\x1b[?69h")
		p.csi("s", t.left+1, t.right+1)
	}
	if t.top != 0 || t.bot != t.rows-1 {
		p.csi("r", t.top+1, t.bot+1)
	}
}

func (p *painter) mode(n int, on bool) {
	p.str("\x1b[?")
	p.b = appendInt(p.b, n)
	if on {
		p.b = append(p.b, 'h')
	} else {
		p.b = append(p.b, 'l')
	}
}

func (p *painter) tabs() {
	if p.t.tabs != nil {
		p.everyTab()
	}
}

// everyTab writes the tab stops, whatever they were.
func (p *painter) everyTab() {
	p.str("\x1b[3g")
	for x := range p.t.cols {
		if p.t.isTab(x) {
			p.csi("G", x+1)
			p.str("\x1bH")
		}
	}
}

// rare writes the state in extra.
func (p *painter) rare() {
	e := p.t.extra
	if e == nil {
		return
	}
	for _, s := range e.sgrStack {
		p.rendition(rendition{style: s, bits: p.bits})
		p.str("\x1b[#{")
	}
	p.savedTitles(e)
	if e.cursorKind != 0 {
		p.csi(" q", int(e.cursorKind))
		if blink := p.t.modes&modeBlink != 0; blink != (e.cursorKind&1 == 1) {
			p.mode(12, blink)
		}
	}
	for i, v := range e.modKeys {
		if v != 0 {
			p.str("\x1b[>")
			p.b = appendInt(p.b, i)
			p.b = append(appendInt(append(p.b, ';'), int(v)), 'm')
		}
	}
	p.palette(e)
	for n := range e.dynamic {
		p.dynamic(e, n)
	}
	if e.workDir != "" {
		p.str("\x1b]7;" + e.workDir + "\x1b\\")
	}
	if e.sacExtent != 0 {
		p.csi("*x", int(e.sacExtent))
	}
}

// savedTitles writes the stack of titles. An entry without a part is above none with it.
func (p *painter) savedTitles(e *extra) {
	for _, s := range e.titles {
		which := "0"
		if s.hasTitle {
			p.str("\x1b]2;" + s.title + "\x1b\\")
		} else {
			which = "1"
		}
		if s.hasIcon {
			p.str("\x1b]1;" + s.icon + "\x1b\\")
		} else {
			which = "2"
		}
		p.str("\x1b[22;" + which + "t")
	}
}

// cursor writes the current character sets, origin mode, cursor and pen.
func (p *painter) cursor() {
	t := p.t
	p.charsets(&t.chars)
	origin := t.modes&modeOrigin != 0
	if origin {
		p.str("\x1b[?6h")
	}
	if t.last.join && p.rejoin() {
		return
	}
	p.moveTo(t.x, t.y, origin)
	p.again(t.scr, t.x, t.y, t.pending, &t.chars)
	if t.pending {
		p.unwrite(t.scr, t.x, t.y, t.modes&modeOrigin != 0)
	}
	if t.modes&modeInsert != 0 {
		p.str("\x1b[4h")
	}
	p.pen(&t.pen)
	if n := t.chars.single; n != 0 {
		p.b = append(p.b, 0x1b, 'N'+n-3)
	}
}

// rejoin prints the last character again in place, so that a following
// combining mark joins it and REP repeats it. It reports whether it could.
func (p *painter) rejoin() bool {
	t := p.t
	x, y := int(t.last.x), int(t.last.y)
	c := t.scr.view(y).at(x)
	if c&(cellContent|cellKind) != t.last.cell || t.last.cell&cellContent == 0 {
		return false
	}
	text := appendContent(nil, t, c)
	if sets := t.chars; text[0] < 0x80 && sets.left(text[0]) != rune(text[0]) {
		return false
	}
	if t.modes&modeInsert != 0 && (x < t.left || x > t.right) { // DCH has no effect there
		return false
	}
	if t.modes&modeAutowrap == 0 && t.x == x && len(text) > utf8Len(firstRune(text)) {
		return false // under wcwidth a mark would join the character before it
	}
	if t.extra != nil && t.extra.latin {
		r := firstRune(text)
		if len(text) != utf8Len(r) || r > 0xff || r > 0x7f && t.chars.right(byte(r)) != r {
			return false
		}
		p.latin()
		text = []byte{byte(r)}
	}
	p.moveTo(x, y, t.modes&modeOrigin != 0)
	if t.modes&modeInsert != 0 {
		p.csi("P", 1+int(c&cellWide/cellWide))
	}
	p.setRendition(c)
	if p.eight {
		p.b = append(p.b, text...)
	} else if width := 1 + int(c&cellWide/cellWide); joinsText(t.leftText(t.scr, x, y), text) || !remakes(text, width, p.grapheme) {
		p.exact(text, c.isWide(), true)
	} else {
		p.b = append(p.b, text...)
	}
	p.pen(&t.pen)
	return true
}

// unwrite erases what again wrote into a cell that is blank; DECERA leaves the wrap pending.
func (p *painter) unwrite(s *screen, x, y int, origin bool) {
	c := s.view(y).at(x)
	if c&(cellContent|cellKind) != 0 {
		return
	}
	if origin {
		x, y = x-p.t.left, y-p.t.top
	}
	p.setRendition(c)
	p.csi("$z", y+1, x+1, y+1, x+1)
}

// latin leaves UTF-8 as the program did, after everything in UTF-8 is written.
func (p *painter) latin() {
	if e := p.t.extra; e != nil && e.latin && !p.eight {
		p.str("\x1b%@")
		p.eight = true
	}
}

// again reprints the character at the end of a line, so that the cursor has a
// pending wrap.
func (p *painter) again(s *screen, x, y int, pending bool, chars *charsets) {
	if !pending {
		return
	}
	t := p.t
	c := s.view(y).at(x)
	if c.isTail() {
		x--
		c = s.view(y).at(x)
		p.str("\x1b[D")
	}
	p.str("\x1b[?7h\x1b[4l\x1b(B\x0f")
	p.setRendition(c)
	text := appendContent(nil, t, c)
	if len(text) == 0 {
		text = append(text, ' ')
	}
	p.glyph(t.leftText(s, x, y), text, c.isWide())
	p.charsets(chars)
}

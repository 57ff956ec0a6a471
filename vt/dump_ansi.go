package vt

import "gascity.dev/gc/vt/internal/char"

// painter writes the bytes that bring a fresh terminal into the state of this
// one.
type painter struct {
	t        *Terminal
	b        []byte
	style    style
	link     link
	bits     cell   // protected and semantic bits
	plain    bool   // for a host terminal: no OSC 133, no protection
	begun    bool   // what readers see during a synchronized update has been written
	modesSet bool   // the modes have been written, see restModes
	grapheme bool   // width policy in force on the terminal painted to
	kept     uint64 // history lines before this one are stored elsewhere
	eight    bool   // it has left UTF-8, see latin
	links    linkBudget
	prev     []byte // the character left of the cursor, when a row continues
	text     []byte // scratch of row
}

// ANSI returns the whole state as bytes: written to a fresh terminal of the
// same size and options, they produce the same history, screens, modes, cursor
// and title, and later output has the same effect. Pending replies and events
// are not included, nor is the alternate screen after a program has left it.
func (t *Terminal) ANSI() []byte {
	return t.ansi(nil, false, 0)
}

// ansi appends ANSI without the history lines before kept. hidden adds the
// alternate screen while it is not in use: mode 47 shows it again.
func (t *Terminal) ansi(dst []byte, hidden bool, kept uint64) []byte {
	t.seen()
	p := painter{t: t, b: dst, kept: kept, grapheme: t.option().Width == WidthGrapheme}
	if t.modes&modeGrapheme == 0 == p.grapheme {
		p.policy(!p.grapheme)
	}
	from, skip := uint64(0), 0
	if f := t.frozen; f != nil {
		p.frozen(f)
		from, skip = f.lines, len(f.open)
	}
	if hidden && t.scr == &t.main {
		p.hiddenAlt()
	}
	p.history(from, skip)
	p.screen(&t.main, t.hist != nil)
	p.kittyFlags(&t.main.kitty)
	if t.scr == &t.alt {
		p.savedCursor(&t.main)
		p.toAlt()
		p.screen(&t.alt, false)
		p.kittyFlags(&t.alt.kitty)
	}
	p.restModes()
	p.savedCursor(t.scr)
	p.policy(t.modes&modeGrapheme != 0) // before the last character is printed: REP and combining marks refer to it
	p.cursor()
	p.policy(t.modes&modeGrapheme != 0)
	p.latin()
	p.b = append(p.b, t.parser.pending()...)
	return p.b
}

// toAlt enters the alternate screen, blank and with the cursor at home, and
// keeps the primary screen's saved cursor.
func (p *painter) toAlt() {
	p.rendition(rendition{})
	p.str("\x1b[?69l\x1b[r\x1b(B\x0f\x1b[?47h\x1b[H")
}

// hiddenAlt writes the alternate screen while the primary one is in use. The
// primary cursor is at home before and after.
func (p *painter) hiddenAlt() {
	s := &p.t.alt
	if s.blank() && s.saved == (saved{}) && s.kitty == (kittyStack{}) {
		return
	}
	p.toAlt()
	p.screen(s, false)
	p.kittyFlags(&s.kitty)
	p.savedCursor(s)
	p.rendition(rendition{})
	p.charsets(&charsets{})
	p.str("\x1b[?69l\x1b[r\x1b[?47l\x1b[H")
}

// frozen writes what readers see during a synchronized update, begins the
// update, and blanks the screens for what the program has drawn since.
func (p *painter) frozen(f *frozen) {
	h := p.t.hist
	if h != nil {
		p.lines(0, f.lines, 0)
		if len(f.open) > 0 {
			grapheme := p.grapheme
			p.line(h.wasOpen(f), 0)
			p.policy(grapheme)
		}
	}
	if f.alt {
		p.screen(&p.t.main, h != nil)
		p.toAlt()
	}
	p.screen(&f.screen, h != nil && !f.alt)
	p.rendition(rendition{})
	if f.title != "" {
		p.str("\x1b]2;" + f.title + "\x1b\\")
	}
	for _, n := range [...]int{12, 25} {
		if m := decMode(n); (f.modes^defaultModes)&m != 0 {
			p.mode(n, f.modes&m != 0)
		}
	}
	p.csi("H", f.y+1, f.x+1)
	p.again(&f.screen, f.x, f.y, f.pending, &charsets{}) // later output is plain text
	if f.pending {
		p.unwrite(&f.screen, f.x, f.y, false)
	}
	p.rendition(rendition{})
	p.str("\x1b[?2026h")
	if f.alt {
		p.str("\x1b[H\x1b[2J\x1b[?47l")
	}
	p.str("\x1b[?12h\x1b[?25h\x1b[H\x1b[2J")
	if f.title != "" {
		p.str("\x1b]2;\x1b\\")
	}
}

func (p *painter) str(s string) { p.b = append(p.b, s...) }

// csi writes a control sequence.
func (p *painter) csi(final string, n ...int) {
	p.str("\x1b[")
	for i, v := range n {
		if i > 0 {
			p.b = append(p.b, ';')
		}
		p.b = appendInt(p.b, v)
	}
	p.str(final)
}

// setRendition switches to a cell's rendition, link and bits.
func (p *painter) setRendition(c cell) {
	l := rendition{style: p.t.styles.get(c.style()), bits: c & (cellProtected | cellSem)}
	if id := c.link(); id != 0 {
		l.link = p.t.links.get(uint32(id))
	}
	p.rendition(l)
}

func (p *painter) rendition(l rendition) {
	if l.style != p.style {
		p.style = l.style
		p.str("\x1b[")
		if l.style == (style{}) {
			p.str("m")
		} else {
			p.b = append(l.style.appendSGR(append(p.b, '0')), 'm')
		}
	}
	if l.link != p.link && l.link != (link{}) && !p.links.take(l.link, len(p.b)) {
		l.link = link{}
	}
	if l.link != p.link {
		p.link = l.link
		p.str("\x1b]8;")
		if l.link.id != "" {
			p.str("id=" + l.link.id)
		}
		p.str(";" + l.link.uri + "\x1b\\")
	}
	if p.plain {
		return
	}
	if (l.bits^p.bits)&cellProtected != 0 {
		p.protect(l.bits&cellProtected != 0)
	}
	if (l.bits^p.bits)&cellSem != 0 {
		p.str("\x1b]133;" + [...]string{"C", "P", "B", "C"}[l.bits&cellSem>>cellSemShift] + "\x1b\\")
	}
	p.bits = l.bits
}

// screen writes the rows of a screen. The cursor is on row 0 or, after the
// history, on the row below it. flow is set if rows must scroll to make room
// for the history.
func (p *painter) screen(s *screen, flow bool) {
	t := p.t
	last := t.rows - 1
	if !flow {
		for last > 0 && s.view(last).length() == 0 && s.view(last).flags&rowPrompt == 0 &&
			s.view(last-1).flags&rowWrapped == 0 {
			last--
		}
	}
	cont, spacer := false, false
	if flow {
		cont, spacer = p.openLine()
	}
	for y := range last + 1 {
		r := s.view(y)
		if y == 0 && spacer && !r.at(0).isWide() {
			p.rendition(rendition{})
			p.str(" ")
		}
		if y > 0 && !cont {
			p.rendition(rendition{bits: p.bits & cellSem})
			p.str("\r\n")
			p.prev = p.prev[:0]
		}
		cont = p.row(r, 0, r.extent(), cont, s.wideBelow(y))
	}
}

// openLine reports whether row 0 continues a line of the history, and whether
// that line left its last column to a wide character (and has no blank written
// there).
func (p *painter) openLine() (cont, spacer bool) {
	if f := p.t.frozen; f != nil && !p.begun {
		p.begun = true
		return len(f.open) > 0, false
	}
	o := &p.t.hist.open
	return o.any, o.any && o.spacer
}

// row writes columns [x0, x1) of a row. The cursor is on x0 or, if cont is set,
// pending a wrap at the end of the row above. It reports whether the row
// continues, and then leaves the cursor pending too. wide means that the row
// below begins with a wide character, which leaves a spacer here.
func (p *painter) row(r *row, x0, x1 int, cont, wide bool) bool {
	t := p.t
	if cont && (x1 == 0 || r.flags&rowPrompt != 0 || r.cells[0]&cellContent == 0 || r.cells[0].isTail() ||
		t.styles.get(r.cells[0].style()).bg != 0) {
		p.wrapPlain(r.at(0).isWide())
		p.prev = p.prev[:0]
	}
	if r.flags&rowPrompt != 0 && !p.plain {
		p.str("\x1b]133;A\x1b\\")
		p.bits = p.bits&^cellSem | semPrompt<<cellSemShift
	}
	wrapped := r.flags&rowWrapped != 0 && x1 == t.cols
	text, prev := p.text, p.prev
	for x := x0; x < x1; x++ {
		c := r.cells[x]
		if c.isTail() {
			continue
		}
		if c&cellContent == 0 {
			if c.kind() == cellSpacer && x == t.cols-1 && wide {
				break
			}
			x = p.blanks(r, x, x1, wrapped)
			prev = prev[:0]
			continue
		}
		p.setRendition(c)
		text = appendContent(text[:0], t, c)
		p.glyph(prev, text, c.isWide())
		if len(text) == 1 && text[0] < 0x80 { // the next one cannot join it
			x += p.ascii(r.cells[x+1:x1], c&cellAttr)
			text[0] = p.b[len(p.b)-1]
		}
		prev = append(prev[:0], text...)
	}
	p.text, p.prev = text, prev
	return wrapped
}

// ascii writes the leading ASCII cells with the same attributes and returns
// their number.
func (p *painter) ascii(cells []cell, attr cell) int {
	n, b := 0, p.b
	for ; n < len(cells); n++ {
		c := cells[n] ^ attr
		if c-0x20 >= 0x7f-0x20 {
			break
		}
		b = append(b, byte(c))
	}
	p.b = b
	return n
}

// glyph writes the text of a cell that follows prev, under the width policy
// that produces the same cell (a program may have changed it, mode 2027). If no
// policy does, it is written exactly, except on a host terminal.
func (p *painter) glyph(prev, text []byte, wide bool) {
	if joinsText(prev, text) {
		if !p.plain {
			p.exact(text, wide, false)
			return
		}
		p.str("\x1b[D\x1b[C") // keeps it from joining the previous character
	}
	if text[0] >= 0x80 || len(text) > 1 {
		width := 1
		if wide {
			width = 2
		}
		if !remakes(text, width, p.grapheme) {
			if remakes(text, width, !p.grapheme) {
				p.policy(!p.grapheme)
			} else if !p.plain {
				p.exact(text, wide, false)
				return
			}
		}
	}
	p.b = append(p.b, text...)
}

// remakes reports whether writing text produces the same single cell.
func remakes(text []byte, width int, grapheme bool) bool {
	class := char.Of(firstRune(text)).Class()
	if grapheme && (class == char.Spacing || class == char.Extend) {
		return false
	}
	n, w := nextCluster(text, grapheme)
	return n == len(text) && w == width
}

// policy changes the width policy of the terminal painted to.
func (p *painter) policy(grapheme bool) {
	if p.grapheme != grapheme && !p.plain {
		p.mode(2027, grapheme)
	}
	p.grapheme = grapheme
}

// blanks writes a run of blank cells of one rendition and returns its end
// column.
func (p *painter) blanks(r *row, x, x1 int, wrapped bool) int {
	c := r.cells[x]
	n := 1
	for x+n < x1 && r.cells[x+n] == c {
		n++
	}
	if wrapped && x+n == p.t.cols { // a written blank, so that the row wraps
		n--
	}
	if c != 0 {
		p.setRendition(c)
	}
	if n > 0 {
		if c != 0 {
			p.csi("X", n)
		}
		if x+n < p.t.cols {
			p.csi("C", n)
		}
		return x + n - 1
	}
	p.setRendition(c)
	p.str(" ")
	return x
}

// joinsText reports whether text after prev would join prev's last cluster.
func joinsText(prev, text []byte) bool {
	if len(prev) == 0 || len(text) == 0 || text[0] < 0x80 && prev[0] < 0x80 {
		return false
	}
	n := len(prev)
	all := append(prev[:n:n], text...)
	for len(all) > 0 {
		k, _ := nextCluster(all, true)
		if n < k {
			return n > 0
		}
		n -= k
		all = all[k:]
	}
	return false
}

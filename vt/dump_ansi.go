package vt

// painter writes what brings a fresh terminal into the state of this one.
type painter struct {
	t     *Terminal
	b     []byte
	style style
	link  link
	bits  cell // protected and semantic bits
	plain bool // for an outer terminal: no OSC 133, no protection
}

// ANSI returns the whole state as bytes: written to a fresh terminal of the
// same size and options they give the same history, screens, modes, cursor and
// title. What waits to be taken and a sequence that is not complete (Pending)
// are not in it.
func (t *Terminal) ANSI() []byte {
	p := painter{t: t}
	if t.modes&modeGrapheme == 0 {
		p.str("\x1b[?2027l")
	}
	p.history()
	p.screen(&t.main, t.hist != nil)
	p.kittyFlags(&t.main.kitty)
	if t.scr == &t.alt {
		p.savedCursor(&t.main)
		p.look(look{})
		p.str("\x1b[?69l\x1b[r\x1b(B\x0f\x1b[?47h\x1b[H")
		p.screen(&t.alt, false)
		p.kittyFlags(&t.alt.kitty)
	}
	p.restModes()
	p.savedCursor(t.scr)
	p.cursor()
	return p.b
}

func (p *painter) str(s string) { p.b = append(p.b, s...) }

// csi writes CSI, numbers and a final.
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

// setLook changes rendition, link and bits to those of a cell.
func (p *painter) setLook(c cell) {
	l := look{style: p.t.styles.get(c.style()), bits: c & (cellProtected | cellSem)}
	if id := c.link(); id != 0 {
		l.link = p.t.links.get(uint32(id))
	}
	p.look(l)
}

func (p *painter) look(l look) {
	if l.style != p.style {
		p.style = l.style
		p.str("\x1b[")
		if l.style == (style{}) {
			p.str("m")
		} else {
			p.b = append(l.style.appendSGR(append(p.b, '0')), 'm')
		}
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
		p.csi("\"q", int(l.bits&cellProtected/cellProtected))
	}
	if (l.bits^p.bits)&cellSem != 0 {
		p.str("\x1b]133;" + [...]string{"C", "A", "B", "C"}[l.bits&cellSem>>cellSemShift] + "\x1b\\")
	}
	p.bits = l.bits
}

// history writes the lines that have left the screen; the open one last,
// without its end.
func (p *painter) history() {
	h := p.t.hist
	if h == nil {
		return
	}
	var buf [64]span
	for _, pg := range h.pages {
		for i := range pg.refs {
			l := h.line(pg, i, buf[:0])
			p.line(l)
			if l.flags&lineContinued == 0 {
				p.look(look{})
				p.str("\r\n")
			}
		}
	}
	if h.open.any {
		p.line(h.openLine())
	}
}

func (p *painter) line(l line) {
	if l.flags&linePrompt != 0 && !p.plain {
		p.str("\x1b]133;A\x1b\\")
		p.bits = p.bits&^cellSem | semPrompt<<cellSemShift
	}
	text := l.text
	for _, s := range l.spans {
		n := min(s.bytes, len(text))
		p.look(l.look(s))
		p.b = append(p.b, text[:n]...)
		text = text[n:]
	}
	if len(text) > 0 {
		p.look(look{})
		p.b = append(p.b, text...)
	}
}

// screen writes the rows of a screen from the cursor on, which stands on row 0
// or, after the history, on the row below it. flow is set when rows must
// scroll to make room for the history.
func (p *painter) screen(s *screen, flow bool) {
	t := p.t
	last := t.rows - 1
	if !flow {
		for last > 0 && s.view(last).length() == 0 && s.view(last).flags&rowPrompt == 0 {
			last--
		}
	}
	cont := flow && t.hist != nil && t.hist.open.any
	for y := range last + 1 {
		r := s.view(y)
		if y > 0 && !cont {
			p.look(look{bits: p.bits & cellSem})
			p.str("\r\n")
		}
		cont = p.row(r, 0, r.length(), cont)
	}
}

// row writes columns [x0, x1) of a row; the cursor stands on x0, or, when cont
// is set, waits at the end of the row above to wrap. It reports whether the
// row continues, and then leaves the cursor waiting too.
func (p *painter) row(r *row, x0, x1 int, cont bool) bool {
	t := p.t
	if cont && (x1 == 0 || r.cells[0]&cellContent == 0 || r.cells[0].isTail()) {
		p.look(look{})
		p.str(" \r\x1b[X") // wraps, and leaves the first cell blank
	}
	if r.flags&rowPrompt != 0 && !p.plain {
		p.str("\x1b]133;A\x1b\\")
		p.bits = p.bits&^cellSem | semPrompt<<cellSemShift
	}
	wrapped := r.flags&rowWrapped != 0 && x1 == t.cols
	var text []byte
	var prev []byte
	for x := x0; x < x1; x++ {
		c := r.cells[x]
		if c.isTail() {
			continue
		}
		if c&cellContent == 0 {
			if c.kind() == cellSpacer && x == t.cols-1 {
				break
			}
			x = p.blanks(r, x, x1, wrapped)
			prev = prev[:0]
			continue
		}
		p.setLook(c)
		text = appendContent(text[:0], t, c)
		if joinsText(prev, text) {
			p.csi("G", x+1) // keeps it from joining the character before
		}
		p.b = append(p.b, text...)
		prev = append(prev[:0], text...)
	}
	return wrapped
}

// blanks writes a run of blank cells of one look and returns its last column.
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
		p.setLook(c)
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
	p.str(" ")
	return x
}

// joinsText reports whether text after prev would be taken into prev's last
// cluster.
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

package vt

// AppendRows appends the rows that readers see, each with an LF, with
// renditions and links but no other state: for a person's terminal of any size.
// With history it starts with the history, in unwrapped lines. Trailing blank
// rows are left out.
func (t *Terminal) AppendRows(dst []byte, history bool) []byte {
	s := t.seen()
	p := painter{t: t, b: dst, plain: true}
	if history && t.hist != nil {
		p.plainLines()
	}
	last := t.rows - 1
	for last >= 0 && s.view(last).length() == 0 {
		last--
	}
	for y := range last + 1 {
		p.prev = p.prev[:0]
		full := *s.view(y)
		full.flags &^= rowWrapped
		p.row(&full, 0, full.length(), false, true)
		p.rendition(rendition{})
		p.str("\n")
	}
	return p.b
}

// plainLines writes the lines of the history.
func (p *painter) plainLines() {
	h := p.t.hist
	var buf [64]span
	for n := h.base(); n < h.closed; n++ {
		pg, i := h.pageOf(n)
		if l := h.line(pg, i, buf[:0]); l.flags&lineGone == 0 {
			p.plainLine(l)
		}
	}
	if h.open.any {
		p.plainLine(h.openLine())
	}
}

func (p *painter) plainLine(l line) {
	text := l.text
	for _, s := range l.spans {
		n := min(s.bytes, len(text))
		p.rendition(l.rendition(s))
		p.b = append(p.b, inexact(text[:n])...)
		text = text[n:]
	}
	p.rendition(rendition{})
	p.b = append(append(p.b, inexact(text)...), '\n')
}

package vt

// openLine returns the open line as a line.
func (h *history) openLine() line {
	o := &h.open
	l := line{text: o.text, spans: o.spans, flags: o.flags, cols: o.cols}
	if len(h.pages) > 0 {
		l.renditions = h.pages[len(h.pages)-1].renditions
	}
	return l
}

// popLine takes the newest line out of the history, back onto the screen.
func (t *Terminal) popLine() (line, bool) {
	h := t.hist
	if h == nil || h.count == 0 {
		return line{}, false
	}
	for h.pages[len(h.pages)-1].count == 0 {
		h.popPage()
	}
	p := h.pages[len(h.pages)-1]
	i := p.count - 1
	l := h.line(p, i, nil)
	l.text = append([]byte(nil), l.text...)
	if p.lost {
		h.popLost(p)
		return l, true
	}
	if h.wide != 0 {
		h.uncount(p, i)
	}
	p.count--
	if !p.sealed {
		from := p.refs[p.skip+i].offset()
		n := int64(len(p.lines)-from) + 8
		p.lines, p.refs = p.lines[:from], p.refs[:p.skip+i]
		h.grow(p, -n)
	}
	h.count--
	h.closed--
	return l, true
}

// popLost removes a lost page after its one row was taken.
func (h *history) popLost(p *page) {
	if h.wide != 0 {
		h.rows -= p.rows
	}
	h.count -= p.count
	h.closed -= uint64(p.count)
	p.count, p.rows = 0, 0
}

// popPage removes the newest page, which has no lines left.
func (h *history) popPage() {
	n := len(h.pages) - 1
	p := h.pages[n]
	h.bytes -= p.size
	h.drop(p)
	h.pages[n] = nil
	h.pages = h.pages[:n]
	h.forgetRenditions()
}

// fromHistory turns a line of history into cells.
func (f *flow) fromHistory(l line) flowLine {
	t := f.t
	out := flowLine{prompt: l.flags&linePrompt != 0}
	out.cells = make([]cell, 0, l.cols)
	text := l.text
	spans := append(append([]span(nil), l.spans...), span{bytes: len(text)})
	for _, s := range spans {
		n := min(s.bytes, len(text))
		attr := t.attrOf(l.rendition(s))
		part := text[:n]
		text = text[n:]
		for len(part) > 0 {
			k, width := nextCluster(part, l.flags&lineWcwidth == 0)
			out.cells = t.appendCluster(out.cells, part[:k], width, attr)
			part = part[k:]
		}
	}
	return out
}

// appendCluster adds the cells of one character.
func (t *Terminal) appendCluster(cells []cell, text []byte, width int, attr cell) []cell {
	if char, _, n := readExact(text); n > 0 {
		text = char
	}
	r, n := decode(text)
	content := cell(r)
	if n < len(text) {
		content = t.clusterCell(text)
	}
	if width == 2 {
		return append(cells, attr|content|cellWide, attr|cellTail)
	}
	return append(cells, attr|content)
}

// attrOf returns the attribute bits of a cell in a rendition.
func (t *Terminal) attrOf(l rendition) cell {
	attr := l.bits
	if l.style != (style{}) {
		attr |= cell(t.styleID(l.style)) << cellStyleShift
	}
	if l.link.uri != "" {
		attr |= cell(t.linkID(l.link)) << cellLinkShift
	}
	return attr
}

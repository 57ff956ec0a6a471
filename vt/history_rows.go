package vt

import "gascity.dev/gc/vt/internal/char"

// HistoryLen returns the number of rows above the screen at the current width.
func (t *Terminal) HistoryLen() int {
	h := t.hist
	if h == nil {
		return 0
	}
	n := t.historyRows()
	if f := t.frozen; f != nil { // without lines pushed since
		for k := h.closed; k > max(f.lines, h.base()); k-- {
			p, i := h.pageOf(k - 1)
			n -= h.refRows(p, i)
		}
		if len(f.open) > 0 {
			n += textRows(f.open, MaxCols+1, f.flags&^linePlain|lineWide, t.cols)
		}
		return n
	}
	if h.open.any {
		n += textRows(h.open.text, h.open.cols, h.open.flags, t.cols)
	}
	return n
}

// openText is the text of the open line if s is the screen below it.
func (h *history) openText(s *screen) []byte {
	o := &h.open
	if o.spacer && !s.view(0).at(0).isWide() { // the wide character the spacer was left for is gone
		return append(o.text[:len(o.text):len(o.text)], ' ')
	}
	return o.text
}

// HistoryBytes returns the memory counted against Options.HistoryBytes.
func (t *Terminal) HistoryBytes() int64 {
	if t.hist == nil {
		return 0
	}
	return t.hist.bytes
}

// HistoryTotal returns the number of logical lines that ever left the screen.
// Lines are numbered from 0, and numbers are never reused.
func (t *Terminal) HistoryTotal() uint64 {
	if t.hist == nil {
		return 0
	}
	return t.hist.closed
}

// historyRows counts the rows of the lines in pages; it is cheap unless the
// width has changed.
func (t *Terminal) historyRows() int {
	h := t.hist
	if h.wide == t.cols {
		return h.rows
	}
	h.wide = 0
	total := 0
	for _, p := range h.pages {
		h.countPage(p, t.cols)
		total += p.rows
	}
	h.rows, h.wide = total, t.cols
	return h.rows
}

// countPage counts the rows of a page's lines. A page stored by Pages is read
// only if one of its lines may be longer than a row.
func (h *history) countPage(p *page, cols int) {
	refs, lines := p.refs, p.lines
	if p.kept() {
		if p.lost {
			return
		}
		if p.widest <= cols {
			p.rows = p.count
			return
		}
		c := h.load(p)
		if c == nil {
			return
		}
		c.count(cols)
		refs, lines = c.refs, c.lines
	} else {
		countRefs(refs, lines, cols)
	}
	p.rows = 0
	for _, r := range refs[p.skip:][:p.count] {
		p.rows += r.rowsIn(lines, cols)
	}
}

// countRefs counts the rows of every line of a page.
func countRefs(refs []lineRef, lines []byte, cols int) {
	for i := range refs {
		refs[i].setRows(refs[i].count(lines, cols))
	}
}

// refRows is the number of rows of a line at the width h.wide.
func (h *history) refRows(p *page, i int) int {
	refs, lines := p.refs, p.lines
	if p.kept() {
		if p.rows == p.count && !p.lost {
			return 1 // each has at least one
		}
		c := h.load(p)
		if c == nil {
			return boolInt(i == p.count-1)
		}
		c.count(h.wide)
		refs, lines = c.refs, c.lines
	}
	return refs[p.skip+i].rowsIn(lines, h.wide)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rowsIn returns the number of rows counted at width cols.
func (r lineRef) rowsIn(lines []byte, cols int) int {
	if n := r.rows(); n < maxRefRows {
		return n
	}
	return r.count(lines, cols)
}

// count counts rows, from the text if there are wide characters.
func (r lineRef) count(lines []byte, cols int) int {
	if r.cols() <= cols || r.flags()&lineWide == 0 || r.offset() >= len(lines) {
		return textRows(nil, r.cols(), r.flags(), cols)
	}
	var buf [16]span
	l, _ := readRecord(lines[r.offset():], buf[:0])
	return textRows(l.text, r.cols(), r.flags(), cols)
}

func textRows(text []byte, width int, flags lineFlags, cols int) int {
	switch {
	case width <= cols:
		return 1
	case flags&lineWide == 0:
		return (width + cols - 1) / cols
	}
	n := 0
	for len(text) > 0 {
		text = text[rowBytes(text, flags, cols):]
		n++
	}
	return max(n, 1)
}

// rowBytes returns how many bytes of a line fill a row.
func rowBytes(text []byte, flags lineFlags, cols int) int {
	if flags&linePlain != 0 {
		return min(len(text), cols)
	}
	n, x := 0, 0
	for n < len(text) {
		k, w := nextCluster(text[n:], flags&lineWcwidth == 0)
		if x += w; x > cols && n > 0 {
			break
		}
		n += k
	}
	return n
}

// nextCluster returns the length and width of the first character of text,
// which is not empty.
func nextCluster(text []byte, grapheme bool) (n, width int) {
	if text[0] == exactMark {
		if _, width, n := readExact(text); n > 0 {
			return n, width
		}
	}
	r, n := decode(text)
	if n == 0 {
		return len(text), 1
	}
	p := char.Of(r)
	width = p.Width()
	if !grapheme {
		width = p.Wcwidth()
	}
	gr := char.Start(p.Class())
	for n < len(text) {
		if text[n] < 0x80 && gr != char.Prepended {
			break
		}
		next, k := decode(text[n:])
		if k == 0 {
			break
		}
		np := char.Of(next)
		joins := np.Wcwidth() == 0
		if grapheme {
			after, ok := gr.Next(np.Class())
			if ok {
				gr = after
			}
			joins = ok || np.Width() == 0 && np.Class() != char.Control
			if joins && n == utf8Len(r) && char.Widens(r, next) {
				width = 2
			}
		}
		if !joins {
			break
		}
		n += k
	}
	return n, max(width, 1)
}

func utf8Len(r rune) int {
	var b [4]byte
	return len(appendRune(b[:0], r))
}

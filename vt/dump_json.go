package vt

import "unicode/utf8"

// Screen is the visible screen as data.
type Screen struct {
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Revision uint64 `json:"revision"`
	Title    string `json:"title,omitempty"`
	WorkDir  string `json:"workDir,omitempty"`
	Cursor   Cursor `json:"cursor"`
	Modes    Modes  `json:"modes"`
	Lines    []Line `json:"lines"` // one for each row
}

// Line is a row of the screen.
type Line struct {
	Runs    []Run `json:"runs,omitempty"`    // text from column 0, trailing blanks trimmed
	Wrapped bool  `json:"wrapped,omitempty"` // continues on the next row
	Prompt  bool  `json:"prompt,omitempty"`  // a prompt begins here (OSC 133)
}

// Run is text in one rendition.
type Run struct {
	Text  string `json:"text"`
	Style Style  `json:"style,omitzero"`
	Link  string `json:"link,omitempty"` // URI (OSC 8)
	// Columns has a digit for each code point of Text: the columns of the character that
	// begins with it, or 0 if it belongs to the character before. It is empty if every
	// code point takes one column.
	Columns string `json:"columns,omitempty"`
}

// Screen returns the screen as data.
func (t *Terminal) Screen() Screen {
	s := Screen{
		Cols: t.cols, Rows: t.rows, Revision: t.rev, Title: t.Title(), WorkDir: t.WorkDir(),
		Cursor: t.Cursor(), Modes: t.Modes(), Lines: make([]Line, t.rows),
	}
	view := t.seen()
	var links linkBudget
	for y := range s.Lines {
		s.Lines[y] = t.line(view, y, &links)
	}
	return s
}

// blankRun reports whether a cell is blank in the default rendition, written or
// not.
func blankRun(c cell) bool {
	c &^= cellProtected | cellSem
	return c == 0 || c == ' ' || c == cellSpacer
}

func (t *Terminal) line(s *screen, y int, links *linkBudget) Line {
	r := s.view(y)
	l := Line{Wrapped: r.flags&rowWrapped != 0, Prompt: r.flags&rowPrompt != 0}
	n := r.length()
	for n > 0 && blankRun(r.cells[n-1]) {
		n--
	}
	const same = cellStyle | cellLink
	spacer := n == t.cols && s.wideBelow(y) // the last cell, if it is one, is no blank
	if runs := countRuns(r.cells[:n], same); runs > 0 {
		l.Runs = make([]Run, 0, runs)
	}
	var text []byte
	for x := 0; x < n; {
		attr, from, all := r.cells[x]&same, x, cell(0)
		text = text[:0]
		for ; x < n && r.cells[x]&same == attr; x++ {
			c := r.cells[x]
			all |= c
			if g := c & cellGlyph; g != 0 && g < utf8.RuneSelf {
				text = append(text, byte(g))
			} else {
				text = t.appendCell(text, c, spacer && x == n-1)
			}
		}
		if len(text) > 0 {
			run := Run{Text: string(text), Style: t.styles.get(attr.style()).public()}
			if all&(cellKind|cellCluster) != 0 {
				run.Columns = t.columns(r.cells[from:x], spacer && x == n)
			}
			if id := attr.link(); id != 0 {
				if l := t.links.get(uint32(id)); links.take(l, links.used) {
					run.Link = l.uri
				}
			}
			l.Runs = append(l.Runs, run)
		}
	}
	return l
}

// countRuns returns how many runs of cells have the same bits.
func countRuns(cells []cell, same cell) (n int) {
	for x := range cells {
		if x == 0 || (cells[x]^cells[x-1])&same != 0 {
			n++
		}
	}
	return n
}

// appendCell appends the text of a cell. last says that it is no blank if it is a spacer.
func (t *Terminal) appendCell(dst []byte, c cell, last bool) []byte {
	switch {
	case c.isTail(), last && c.kind() == cellSpacer:
		return dst
	case c&cellContent == 0:
		return append(dst, ' ')
	}
	return appendContent(dst, t, c)
}

// columns returns Run.Columns of cells. spacer is as last of appendCell, for the last one.
func (t *Terminal) columns(cells []cell, spacer bool) string {
	var columns columns
	var text []byte
	for i, c := range cells {
		text = t.appendCell(text[:0], c, spacer && i == len(cells)-1)
		columns.add(text, c.isWide())
	}
	return columns.String()
}

// columns are the digits of Run.Columns.
type columns struct {
	digits []byte
	told   bool // one of them is not 1
}

// add adds the digits of a cell's text; a tail has none.
func (c *columns) add(text []byte, wide bool) {
	for i := 0; i < len(text); i++ {
		digit := byte('1')
		switch {
		case text[i]&0xc0 == 0x80: // not the first byte of a code point
			continue
		case i > 0:
			digit = '0'
		case wide:
			digit = '2'
		}
		c.digits, c.told = append(c.digits, digit), c.told || digit != '1'
	}
}

// String returns the digits; "" if all are 1.
func (c *columns) String() string {
	if !c.told {
		return ""
	}
	return string(c.digits)
}

// HistoryLine returns line n of the history as data, unwrapped; Wrapped says that the next
// line continues it. ok is false if the line is not kept, or not yet complete: see
// HistoryFirst and HistoryTotal.
func (t *Terminal) HistoryLine(n uint64) (l Line, ok bool) {
	h := t.hist
	if h == nil || n < h.base() || n >= h.closed {
		return Line{}, false
	}
	p, i := h.pageOf(n)
	return h.line(p, i, nil).public(), true
}

// OpenLine returns the part above the screen of the line that its first row continues.
func (t *Terminal) OpenLine() (l Line, ok bool) {
	if t.hist == nil || !t.hist.open.any {
		return Line{}, false
	}
	return t.hist.openLine().public(), true
}

// HistoryFirst returns the number of the oldest line that the history keeps.
func (t *Terminal) HistoryFirst() uint64 {
	if t.hist == nil {
		return t.HistoryTotal()
	}
	return t.hist.base()
}

// public returns a line of the history as data.
func (l line) public() Line {
	out := Line{Wrapped: l.flags&lineContinued != 0, Prompt: l.flags&linePrompt != 0}
	text, grapheme := l.text, l.flags&lineWcwidth == 0
	add := func(n int, look rendition) {
		var run []byte
		var columns columns
		for part := text[:n]; len(part) > 0; {
			k, width := nextCluster(part, grapheme)
			shown := inexact(part[:k])
			columns.add(shown, width == 2)
			run, part = append(run, shown...), part[k:]
		}
		text = text[n:]
		if len(run) > 0 {
			out.Runs = append(out.Runs, Run{Text: string(run), Style: look.style.public(), Columns: columns.String()})
		}
	}
	for _, s := range l.spans {
		add(min(s.bytes, len(text)), l.rendition(s))
	}
	add(len(text), rendition{})
	return out
}

package vt

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
	var text []byte
	var columns columns
	for x := 0; x < n; {
		attr := r.cells[x] & same
		text, columns = text[:0], columns.none()
		for ; x < n && r.cells[x]&same == attr; x++ {
			c, at := r.cells[x], len(text)
			switch {
			case c.isTail(), c.kind() == cellSpacer && x == t.cols-1 && s.wideBelow(y):
			case c&cellContent == 0:
				text = append(text, ' ')
			default:
				text = appendContent(text, t, c)
			}
			columns.add(text[at:], c.isWide())
		}
		if len(text) > 0 {
			run := Run{Text: string(text), Style: t.styles.get(attr.style()).public(), Columns: columns.String()}
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

// columns are the digits of Run.Columns.
type columns struct {
	digits []byte
	told   bool // one of them is not 1
}

// none returns c without digits.
func (c columns) none() columns { return columns{digits: c.digits[:0]} }

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

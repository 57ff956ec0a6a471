package vt

import "strings"

// TextOptions select what Text returns.
type TextOptions struct {
	Lines      int  // number of rows, counted from the bottom; <= 0 is all
	Join       bool // join wrapped rows into one line; Lines then counts lines
	ScreenOnly bool // no history
}

// appendRow appends the text of a row: a blank cell is a space, trailing blank
// cells are trimmed unless the row continues.
func (t *Terminal) appendRow(dst []byte, s *screen, y int) []byte {
	if s.rows == nil {
		return dst
	}
	if r := s.raw(y); r.flags&rowText != 0 {
		return r.appendTo(dst)
	}
	r := s.row(y)
	for x, c := range r.cells[:r.extent()] {
		switch {
		case c&cellKind == cellTail, c&cellKind == cellSpacer && x == t.cols-1 && s.wideBelow(y):
		case c&cellContent == 0:
			dst = append(dst, ' ')
		case c&cellContent < 0x80:
			dst = append(dst, byte(c))
		default:
			dst = appendContent(dst, t, c)
		}
	}
	return dst
}

// trimBlanks trims trailing blanks, but not below index from.
func trimBlanks(b []byte, from int) []byte {
	for len(b) > from && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// Line returns the text of a screen row, trailing blanks trimmed; "" for a row
// outside the screen.
func (t *Terminal) Line(y int) string {
	if y < 0 || y >= t.rows {
		return ""
	}
	return string(trimBlanks(t.appendRow(nil, t.seen(), y), 0))
}

// ScreenText returns the screen as a person sees it: rows separated by
// newlines, trailing blanks and blank rows at the end trimmed.
func (t *Terminal) ScreenText() string {
	s := t.seen()
	size := 0
	for y := range s.rows {
		size += int(s.rows[y].used) + 1
	}
	b, end := make([]byte, 0, size), 0
	for y := range t.rows {
		from := len(b)
		b = trimBlanks(t.appendRow(b, s, y), from)
		if len(b) > from {
			end = len(b)
		}
		b = append(b, '\n')
	}
	return string(b[:end])
}

// Text returns the newest rows of history and screen, separated by newlines.
// Blank rows below the last text are not counted. On the alternate screen its
// rows come last, below the history of the primary one.
func (t *Terminal) Text(o TextOptions) string {
	c := collector{limit: o.Lines, join: o.Join}
	if o.Lines <= 0 {
		c.limit = int(^uint(0) >> 1)
	}
	s := t.seen()
	for y := t.rows - 1; y >= 0 && !c.full(); y-- {
		c.add(string(t.appendRow(nil, s, y)), s.wrapped(y))
	}
	if !o.ScreenOnly {
		t.collectHistory(&c)
	}
	return c.text()
}

// collector gathers rows from the bottom up.
type collector struct {
	limit int
	join  bool
	rows  []string // last first
}

// full reports whether no further row is wanted; a joined line is completed
// first.
func (c *collector) full() bool {
	return len(c.rows) > c.limit || !c.join && len(c.rows) == c.limit
}

// add adds the row above those already added; wrapped means that it continues
// on the row below.
func (c *collector) add(text string, wrapped bool) {
	if c.join && wrapped && len(c.rows) > 0 {
		c.rows[len(c.rows)-1] = text + c.rows[len(c.rows)-1]
		return
	}
	if len(c.rows) > 0 || !blankText(text) { // blank rows below the last text do not count
		c.rows = append(c.rows, text)
	}
}

func (c *collector) text() string {
	rows := c.rows[:min(len(c.rows), c.limit)]
	size := 0
	for _, r := range rows {
		size += len(r) + 1
	}
	b := make([]byte, 0, size)
	for i := len(rows) - 1; i >= 0; i-- {
		from := len(b)
		b = trimBlanks(append(b, rows[i]...), from)
		if i > 0 {
			b = append(b, '\n')
		}
	}
	return string(b)
}

// collectHistory adds the history rows, newest first.
func (t *Terminal) collectHistory(c *collector) {
	h := t.hist
	if h == nil {
		return
	}
	next, open, flags := h.closed, h.openText(&t.main), h.open.flags
	if f := t.frozen; f != nil {
		next, open, flags = f.lines, f.open, f.flags
	}
	if len(open) > 0 || h.open.any && t.frozen == nil {
		onMain := t.seen() == &t.main || t.frozen != nil && !t.frozen.alt
		c.addLine(string(open), flags, t.cols, onMain)
	}
	var buf [64]span
	for n := next; n > h.base() && !c.full(); n-- {
		p, i := h.pageOf(n - 1)
		l := h.line(p, i, buf[:0])
		if l.flags&lineGone != 0 {
			continue
		}
		c.addLine(string(l.text), l.flags, t.cols, l.flags&lineContinued != 0)
	}
}

// addLine adds a logical line of history, wrapped at cols; more means that it
// continues below.
func (c *collector) addLine(text string, flags lineFlags, cols int, more bool) {
	if c.join {
		c.add(string(inexact([]byte(text))), more)
		return
	}
	_, starts := wrapStarts([]byte(text), flags, cols)
	for i := len(starts) - 1; i >= 0; i-- {
		c.add(string(inexact([]byte(text[starts[i]:]))), false)
		text = text[:starts[i]]
	}
}

// blankText reports whether text is only spaces.
func blankText(s string) bool { return strings.Trim(s, " ") == "" }

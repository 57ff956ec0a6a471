package copymode

import "strings"

// selection is what is selected between the mark and the cursor.
type selection int

const (
	nothing selection = iota
	characters
	wholeLines
	block
)

// MaxCopy bounds what is copied, in bytes: terminals refuse more, silently.
const MaxCopy = 4 << 20

// toggle begins a selection at the cursor, changes its kind, or ends it.
func (m *Model) toggle(kind selection) {
	switch m.selecting {
	case kind:
		m.selecting = nothing
		return
	case nothing:
		m.mark = m.cursor
	}
	m.selecting = kind
}

// bounds returns the first and the last glyph of a selection of characters or lines.
func (m *Model) bounds() (from, to pos) {
	from, to = m.mark, m.cursor
	if to.before(from) {
		from, to = to, from
	}
	if m.selecting == wholeLines {
		from.at, to.at = 0, m.line(to.line).last()
	}
	return from, to
}

// corners returns the rows and the columns, both included, of a block.
func (m *Model) corners() (from, to spot, left, right int) {
	from, to = m.spotOf(m.mark), m.spotOf(m.cursor)
	if to.before(from) {
		from, to = to, from
	}
	left = m.line(m.mark.line).columnOf(m.mark.at, m.cols)
	right = m.line(m.cursor.line).columnOf(m.cursor.at, m.cols)
	return from, to, min(left, right), max(left, right)
}

// selected reports whether a glyph, in a row and at a column, is selected.
func (m *Model) selected(p pos, row, col int) bool {
	switch m.selecting {
	case nothing:
		return false
	case block:
		from, to, left, right := m.corners()
		at := spot{p.line, row}
		return !at.before(from) && !to.before(at) && col >= left && col <= right
	}
	from, to := m.bounds()
	return !p.before(from) && !to.before(p)
}

// copied returns the selected text. Soft wraps are none in it, nor blanks at the ends of
// lines. ok is false if it is over MaxCopy.
func (m *Model) copied() (text string, ok bool) {
	if m.selecting == block {
		return m.copiedBlock()
	}
	var b strings.Builder
	from, to := m.bounds()
	for n := from.line; n <= to.line; n++ {
		part, joined := "", false
		if n > from.line && n < to.line {
			part, joined = m.lines.text(n)
		} else {
			part, joined = m.copiedLine(n, from, to)
		}
		whole := n < to.line || m.selecting == wholeLines || to.at >= m.line(n).last()
		if whole && !joined {
			part = strings.TrimRight(part, " ")
		}
		b.WriteString(part)
		if !joined && (n < to.line || m.selecting == wholeLines) {
			b.WriteByte('\n')
		}
		if b.Len() > MaxCopy {
			return "", false
		}
	}
	return b.String(), true
}

// copiedLine returns what is selected of the first or the last line.
func (m *Model) copiedLine(n uint64, from, to pos) (text string, joined bool) {
	l := m.line(n)
	begin, end := 0, len(l.glyphs)
	if n == from.line {
		begin = from.at
	}
	if n == to.line {
		end = min(to.at+1, end)
	}
	return l.text(begin, max(begin, end)), l.joined && end == len(l.glyphs)
}

// copiedBlock returns the text of a block, a line for each row.
func (m *Model) copiedBlock() (string, bool) {
	var b strings.Builder
	from, to, left, right := m.corners()
	for at := from; ; {
		l := m.line(at.line)
		begin, end := l.row(at.row, m.cols)
		var part strings.Builder
		col := 0
		for _, g := range l.glyphs[begin:end] {
			if col >= left && col <= right {
				part.WriteString(g.text)
			}
			col += g.width
		}
		b.WriteString(strings.TrimRight(part.String(), " "))
		if at == to {
			return b.String(), true
		}
		b.WriteByte('\n')
		if at, _ = m.down(at, 1); b.Len() > MaxCopy {
			return "", false
		}
	}
}

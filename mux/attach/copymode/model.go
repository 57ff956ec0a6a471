package copymode

// pos is a glyph of a line; the first of an empty line, too.
type pos struct {
	line uint64
	at   int
}

func (p pos) before(q pos) bool { return p.line < q.line || p.line == q.line && p.at < q.at }

// spot is a row of a line.
type spot struct {
	line uint64
	row  int
}

func (s spot) before(t spot) bool { return s.line < t.line || s.line == t.line && s.row < t.row }

// Model is what a person sees and has selected.
type Model struct {
	lines      *lines
	keys       Bindings
	cols, rows int

	top    spot // the first row shown
	cursor pos
	want   int // the column that moves up and down keep

	selecting selection
	mark      pos

	pattern string
	fold    bool
	back    bool    // the search's direction
	prompt  *prompt // a pattern that is being typed
	message string  // on the last row, until the next key
}

// Done is what a key led to.
type Done struct {
	Left   bool   // the person left
	Copied bool   // and copied Text
	Text   string //
}

// New returns the view of a moment on a terminal of a size, with the screen at the bottom
// and the cursor where it is.
func New(source Source, m Moment, keys Bindings, cols, rows int) *Model {
	v := &Model{lines: newLines(source, m), keys: keys, cols: max(cols, 1), rows: max(rows, 1)}
	_, starts := screenLines(m)
	if y := m.Screen.Cursor.Row; y < len(starts) {
		at := starts[y]
		l := v.line(at.line)
		for col := m.Screen.Cursor.Col; at.at < l.last(); at.at++ {
			if col -= l.glyphs[at.at].width; col < 0 {
				break
			}
		}
		v.cursor = pos{at.line, min(at.at, l.last())}
	} else {
		v.cursor = pos{line: v.lines.end - 1}
	}
	v.top, _ = v.up(v.bottom(), v.rows-1)
	if v.cols == m.Screen.Cols && v.rows == m.Screen.Rows && len(starts) > 0 {
		v.top = v.spotOf(starts[0])
	}
	v.follow()
	v.keepColumn()
	v.message = "copy mode: " + keys.Hint()
	return v
}

// Resize gives the view the size of the terminal.
func (m *Model) Resize(cols, rows int) {
	from, _ := m.line(m.top.line).row(m.top.row, m.cols)
	first := pos{m.top.line, from}
	m.cols, m.rows = max(cols, 1), max(rows, 1)
	m.top = m.spotOf(first)
	m.follow()
	m.keepColumn()
}

// Say shows a message until the next key.
func (m *Model) Say(text string) { m.message = text }

func (m *Model) line(n uint64) *line { return m.lines.get(n) }

// spotOf returns the row of a glyph.
func (m *Model) spotOf(p pos) spot { return spot{p.line, m.line(p.line).rowOf(p.at, m.cols)} }

// bottom returns the last row of all.
func (m *Model) bottom() spot {
	n := m.lines.end - 1
	return spot{n, len(m.line(n).rows(m.cols)) - 1}
}

// up returns the row that is n rows above s, or the first one, and how many rows it is.
func (m *Model) up(s spot, n int) (spot, int) {
	for i := range n {
		switch {
		case s.row > 0:
			s.row--
		case s.line > m.lines.first:
			s.line--
			s.row = len(m.line(s.line).rows(m.cols)) - 1
		default:
			return s, i
		}
	}
	return s, n
}

// down is up in the other direction.
func (m *Model) down(s spot, n int) (spot, int) {
	for i := range n {
		switch {
		case s.row+1 < len(m.line(s.line).rows(m.cols)):
			s.row++
		case s.line+1 < m.lines.end:
			s = spot{line: s.line + 1}
		default:
			return s, i
		}
	}
	return s, n
}

// follow scrolls so that the cursor is shown and no row is below the last one.
func (m *Model) follow() {
	m.cursor.line = max(m.cursor.line, m.lines.first)
	m.cursor.at = min(m.cursor.at, m.line(m.cursor.line).last())
	at := m.spotOf(m.cursor)
	if at.before(m.top) {
		m.top = at
	} else if last, _ := m.down(m.top, m.rows-1); last.before(at) {
		m.top, _ = m.up(at, m.rows-1)
	}
	if lowest, _ := m.up(m.bottom(), m.rows-1); lowest.before(m.top) {
		m.top = lowest
	}
}

// keepColumn makes moves up and down keep the cursor's column.
func (m *Model) keepColumn() {
	m.want = m.line(m.cursor.line).columnOf(m.cursor.at, m.cols)
}

// toRow moves the cursor to a row, in the wanted column.
func (m *Model) toRow(s spot) {
	m.cursor = pos{s.line, m.line(s.line).at(s.row, m.want, m.cols)}
}

// vertical moves the cursor by n rows.
func (m *Model) vertical(n int) {
	at := m.spotOf(m.cursor)
	if n < 0 {
		at, _ = m.up(at, -n)
	} else {
		at, _ = m.down(at, n)
	}
	m.toRow(at)
}

// scroll moves the view by n rows, and the cursor with it.
func (m *Model) scroll(n int) {
	moved := 0
	if n < 0 {
		m.top, moved = m.up(m.top, -n)
		moved = -moved
	} else {
		lowest, _ := m.up(m.bottom(), m.rows-1)
		for moved < n && m.top.before(lowest) {
			m.top, _ = m.down(m.top, 1)
			moved++
		}
	}
	if moved == 0 {
		m.vertical(n)
		return
	}
	m.vertical(moved)
}

// horizontal moves the cursor by n glyphs, over the ends of lines.
func (m *Model) horizontal(n int) {
	c := &m.cursor
	switch {
	case n < 0 && c.at > 0:
		c.at--
	case n < 0 && c.line > m.lines.first:
		c.line--
		c.at = m.line(c.line).last()
	case n > 0 && c.at < m.line(c.line).last():
		c.at++
	case n > 0 && c.line+1 < m.lines.end:
		*c = pos{line: c.line + 1}
	}
	m.keepColumn()
}

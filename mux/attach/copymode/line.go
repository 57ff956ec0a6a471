package copymode

import (
	"strings"

	"gascity.dev/gc/vt"
)

// glyph is a character as the session has it.
type glyph struct {
	text  string
	width int // columns, 1 or 2
	style *vt.Style
}

// line is a logical line in glyphs.
type line struct {
	glyphs []glyph
	joined bool  // the next line continues it
	starts []int // glyphs that begin its rows, at cols
	cols   int
}

// shape makes a line of the session's data.
func shape(l vt.Line) *line {
	out := &line{joined: l.Wrapped}
	for i := range l.Runs {
		r := &l.Runs[i]
		at := 0
		for _, c := range r.Text {
			width := 1
			if at < len(r.Columns) {
				width = int(r.Columns[at] - '0')
			}
			at++
			if c < ' ' || c >= 0x7f && c < 0xa0 { // none comes from a terminal
				c = '?'
			}
			if n := len(out.glyphs); width == 0 && n > 0 {
				out.glyphs[n-1].text += string(c)
				continue
			}
			out.glyphs = append(out.glyphs, glyph{string(c), max(width, 1), &r.Style})
		}
	}
	return out
}

// rows returns the glyphs that begin the rows of the line on a terminal of cols columns.
func (l *line) rows(cols int) []int {
	if l.cols == cols {
		return l.starts
	}
	l.starts, l.cols = append(l.starts[:0], 0), cols
	col := 0
	for i, g := range l.glyphs {
		if col+g.width > cols && col > 0 {
			l.starts, col = append(l.starts, i), 0
		}
		col += g.width
	}
	return l.starts
}

// row returns the glyphs [from, to) of a row.
func (l *line) row(row, cols int) (from, to int) {
	starts := l.rows(cols)
	to = len(l.glyphs)
	if row+1 < len(starts) {
		to = starts[row+1]
	}
	return starts[row], to
}

// rowOf returns the row of a glyph.
func (l *line) rowOf(at, cols int) int {
	starts := l.rows(cols)
	row := len(starts) - 1
	for row > 0 && starts[row] > at {
		row--
	}
	return row
}

// columnOf returns the column of a glyph in its row.
func (l *line) columnOf(at, cols int) int {
	from, _ := l.row(l.rowOf(at, cols), cols)
	col := 0
	for _, g := range l.glyphs[from:min(at, len(l.glyphs))] {
		col += g.width
	}
	return col
}

// at returns the glyph of a row that is nearest to a column.
func (l *line) at(row, col, cols int) int {
	from, to := l.row(row, cols)
	for i := from; i < to; i++ {
		if col -= l.glyphs[i].width; col < 0 {
			return i
		}
	}
	return max(to-1, from)
}

// last returns the last glyph; 0 of an empty line.
func (l *line) last() int { return max(len(l.glyphs)-1, 0) }

// text returns the text of the glyphs [from, to).
func (l *line) text(from, to int) string {
	var b strings.Builder
	for _, g := range l.glyphs[min(from, len(l.glyphs)):min(to, len(l.glyphs))] {
		b.WriteString(g.text)
	}
	return b.String()
}

// matches returns the glyphs [from, to) of each occurrence of pattern.
func (l *line) matches(pattern string, fold bool) (found [][2]int) {
	if pattern == "" {
		return nil
	}
	var b strings.Builder
	starts := make([]int, 0, len(l.glyphs)+1)
	for _, g := range l.glyphs {
		starts = append(starts, b.Len())
		if fold {
			b.WriteString(strings.ToLower(g.text))
		} else {
			b.WriteString(g.text)
		}
	}
	text, at := b.String(), 0
	starts = append(starts, len(text))
	for i := 0; ; {
		k := strings.Index(text[at:], pattern)
		if k < 0 {
			return found
		}
		from, to := at+k, at+k+len(pattern)
		for starts[i+1] <= from {
			i++
		}
		end := i
		for end < len(l.glyphs) && starts[end] < to {
			end++
		}
		found, at = append(found, [2]int{i, end}), to
	}
}

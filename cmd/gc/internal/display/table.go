package display

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Table prints rows under a header, two spaces between the columns. Cells are
// cleaned, and measured as a terminal shows them.
type Table struct {
	Width  int  // of the terminal: cells are shortened to fit; 0 = no limit
	Colour bool // whether Paint has an effect

	rows    [][]string
	colours map[[2]int]Colour // by row and column
}

// Add adds a row; the first one is the header.
func (t *Table) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = Line(c)
	}
	t.rows = append(t.rows, cells)
}

// Paint colours a cell of the last row.
func (t *Table) Paint(column int, c Colour) {
	if t.colours == nil {
		t.colours = map[[2]int]Colour{}
	}
	t.colours[[2]int{len(t.rows) - 1, column}] = c
}

// Print writes the table.
func (t *Table) Print(w io.Writer) error {
	widths := t.widths()
	var b strings.Builder
	for y, row := range t.rows {
		spaces, left := 0, t.Width
		for x, cell := range row {
			if t.Width > 0 {
				if left <= spaces {
					break
				}
				cell = Cut(cell, min(widths[x], left-spaces))
			}
			n := displaywidth.String(cell)
			if n > 0 {
				b.WriteString(strings.Repeat(" ", spaces))
				left -= spaces + n
				spaces = 0
			}
			b.WriteString(t.paintedCell(y, x, cell))
			spaces += widths[x] - n + 2
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) paintedCell(row, column int, cell string) string {
	switch {
	case !t.Colour:
		return cell
	case row == 0:
		return Bold.Paint(cell)
	}
	return t.colours[[2]int{row, column}].Paint(cell)
}

// The minimum widths of columns.
const (
	leastLast   = 20 // of the last one, before the others shrink
	leastColumn = 6
)

// widths are the widths of the columns. On a narrow terminal the last column
// shrinks first, then the widest one; the first, which holds names, never does.
func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for x, cell := range row {
			if x == len(widths) {
				widths = append(widths, 0)
			}
			widths[x] = max(widths[x], displaywidth.String(cell))
		}
	}
	if t.Width <= 0 || len(widths) < 2 {
		return widths
	}
	over := 2*(len(widths)-1) - t.Width
	for _, w := range widths {
		over += w
	}
	last := len(widths) - 1
	give := max(min(over, widths[last]-leastLast), 0)
	widths[last] -= give
	for over -= give; over > 0; over-- {
		widest := last
		for x := 1; x < last; x++ {
			if widths[x] > widths[widest] && widths[x] > max(leastColumn, displaywidth.String(t.rows[0][x])) {
				widest = x
			}
		}
		if widths[widest] <= leastColumn {
			break
		}
		widths[widest]--
	}
	return widths
}

// Cut shortens s to n columns, the last of them an ellipsis; 0 = no limit.
func Cut(s string, n int) string {
	if n <= 0 {
		return s
	}
	return displaywidth.TruncateString(s, n, "…")
}

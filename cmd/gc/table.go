package main

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// table prints rows under a header, columns two blanks apart. Cells are cleaned,
// and as wide as a terminal shows them.
type table struct {
	rows    [][]string
	width   int               // of the terminal: cells are shortened to fit; 0 = no limit
	colour  bool              // paint does something
	colours map[[2]int]colour // by row and column
}

// add adds a row; the first one is the header.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = cleanLine(c)
	}
	t.rows = append(t.rows, cells)
}

// paint colours a cell of the row that was added last.
func (t *table) paint(column int, c colour) {
	if t.colours == nil {
		t.colours = map[[2]int]colour{}
	}
	t.colours[[2]int{len(t.rows) - 1, column}] = c
}

func (t *table) print(w io.Writer) error {
	widths := t.widths()
	var b strings.Builder
	for y, row := range t.rows {
		blanks, left := 0, t.width
		for x, cell := range row {
			if t.width > 0 {
				if left <= blanks {
					break
				}
				cell = cut(cell, min(widths[x], left-blanks))
			}
			n := displaywidth.String(cell)
			if n > 0 {
				b.WriteString(strings.Repeat(" ", blanks))
				left -= blanks + n
				blanks = 0
			}
			b.WriteString(t.paintedCell(y, x, cell))
			blanks += widths[x] - n + 2
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) paintedCell(row, column int, cell string) string {
	switch {
	case !t.colour:
		return cell
	case row == 0:
		return bold.paint(cell)
	}
	return t.colours[[2]int{row, column}].paint(cell)
}

// The least that columns are shortened to.
const (
	leastLast   = 20 // the last one, before the others are
	leastColumn = 6
)

// widths are those of the columns. Where the terminal is too narrow, the last
// column gives way first, then the widest one; the first holds names, and stays.
func (t *table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for x, cell := range row {
			if x == len(widths) {
				widths = append(widths, 0)
			}
			widths[x] = max(widths[x], displaywidth.String(cell))
		}
	}
	if t.width <= 0 || len(widths) < 2 {
		return widths
	}
	over := 2*(len(widths)-1) - t.width
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

// cut shortens s to n columns, the last of them an ellipsis; 0 = no limit.
func cut(s string, n int) string {
	if n <= 0 {
		return s
	}
	return displaywidth.TruncateString(s, n, "…")
}

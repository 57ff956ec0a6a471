package suites

import (
	"testing"

	"gascity.dev/gc/vt"
)

// cell is what a reader sees in one column: the character's text in its first column and
// "" in a second one.
type cell struct {
	text  string
	width int
	style vt.Style
	link  string
	blank bool // nothing printed here
}

// grid spreads the runs of the screen over columns.
func grid(term *vt.Terminal) [][]cell {
	cols, rows := term.Size()
	cells := make([][]cell, rows)
	lines := term.Screen().Lines
	for y := range cells {
		row := make([]cell, 0, cols)
		if y < len(lines) {
			for _, run := range lines[y].Runs {
				row = append(row, runCells(run)...)
			}
		}
		for len(row) < cols {
			row = append(row, cell{text: " ", width: 1, blank: true})
		}
		cells[y] = row[:cols]
	}
	return cells
}

func runCells(run vt.Run) (cells []cell) {
	text := []byte(run.Text)
	for len(text) > 0 {
		n, width := vt.Character(text)
		c := cell{text: string(text[:n]), width: max(width, 1), style: run.Style, link: run.Link}
		cells = append(cells, c)
		for i := 1; i < c.width; i++ {
			cells = append(cells, cell{style: run.Style, link: run.Link})
		}
		text = text[n:]
	}
	return cells
}

func newTerm(t testing.TB, o vt.Options) *vt.Terminal {
	t.Helper()
	term, err := vt.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

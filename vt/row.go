package vt

// rowFlags say what a row may hold, so that common rows are handled without
// scanning their cells.
type rowFlags uint8

const (
	rowWrapped rowFlags = 1 << iota // continues on the next row by an automatic wrap
	rowWide                         // may hold wide cells
	rowCluster                      // may hold clusters
	rowPrompt                       // a prompt begins here (OSC 133;A)
	rowText                         // kept as text, not as cells, see text.go
)

// row is one line of the screen. Its cells are allocated on first write; unless
// the row is kept as text, every cell from used on is the zero cell.
type row struct {
	cells []cell
	rev   uint64 // revision of the last change
	used  int32
	flags rowFlags
	runs  uint8 // number of runs of a row kept as text
}

// reset blanks the row and keeps its memory.
func (r *row) reset(rev uint64) {
	if r.flags&rowText == 0 { // the words of a text row are never read as cells
		clear(r.cells[:r.used])
	}
	r.used, r.runs, r.flags, r.rev = 0, 0, r.flags&rowText, rev
}

// at returns a cell; columns beyond the row's cells are blank.
func (r *row) at(x int) cell {
	if x < int(r.used) {
		return r.cells[x]
	}
	return 0
}

// set requires allocated cells (see screen.touch).
func (r *row) set(x int, c cell) {
	r.cells[x] = c
	if int32(x) >= r.used {
		r.used = int32(x) + 1
	}
	r.note(c)
}

// note sets the flags for a cell put into the row.
func (r *row) note(c cell) {
	if c&cellKind != 0 {
		r.flags |= rowWide
	}
	if c&cellCluster != 0 {
		r.flags |= rowCluster
	}
}

// trim lowers used below trailing blank cells.
func (r *row) trim() {
	n := r.used
	for n > 0 && r.cells[n-1] == 0 {
		n--
	}
	r.used = n
}

// fill sets the cells of [x0, x1) to the blank cell c.
func (r *row) fill(x0, x1 int, c cell) {
	if c == 0 {
		if x1 >= int(r.used) {
			if x0 < int(r.used) {
				clear(r.cells[x0:r.used])
				r.used = int32(x0)
				r.trim()
			}
			return
		}
		clear(r.cells[x0:x1])
		return
	}
	s := r.cells[x0:x1]
	for i := range s {
		s[i] = c
	}
	r.used = max(r.used, int32(x1))
}

// splitAt blanks both halves of a wide cell that straddles the left edge of
// column x, and the spacer at the end of the row.
func (r *row) splitAt(x int) {
	if x == int(r.used) && x == len(r.cells) && r.cells[x-1].kind() == cellSpacer {
		r.cells[x-1] = r.cells[x-1].blanked() // it may be moved
		r.trim()
	}
	if r.flags&rowWide == 0 || x <= 0 || x >= int(r.used) || !r.cells[x].isTail() {
		return
	}
	r.cells[x-1] = r.cells[x-1].blanked()
	r.cells[x] = r.cells[x].blanked()
}

// length is the number of columns up to the last one that is not blank.
func (r *row) length() int {
	n := int(r.used)
	for n > 0 && r.cells[n-1] == 0 {
		n--
	}
	return n
}

// extent is the number of columns of a row that belong to its line: all of a
// row that continues, even if its end has been blanked since.
func (r *row) extent() int {
	if r.flags&rowWrapped != 0 {
		return len(r.cells)
	}
	return r.length()
}

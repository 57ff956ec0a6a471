package vt

// screen is one of the two grids: a ring of rows, allocated on first write.
type screen struct {
	rows  []row  // nil: never written
	top   int    // index of row 0
	moved uint64 // revision of the last scrolling of the whole screen
	saved saved
	kitty kittyStack
}

// saved is what DECSC saves.
type saved struct {
	x, y    int
	pending bool
	origin  bool
	pen     pen
	chars   charsets
}

// row returns row y, which may have no cells. s.rows must be allocated.
func (s *screen) row(y int) *row {
	r := s.raw(y)
	if r.flags&rowText != 0 {
		r.toCells()
	}
	return r
}

// raw returns row y as stored, perhaps as text.
func (s *screen) raw(y int) *row {
	i := s.top + y
	if i >= len(s.rows) {
		i -= len(s.rows)
	}
	return &s.rows[i]
}

// view returns row y for reading.
func (s *screen) view(y int) *row {
	if s.rows == nil {
		return &blankRow
	}
	return s.row(y)
}

var blankRow row

// wrapped reports whether row y continues on the next one.
func (s *screen) wrapped(y int) bool { return s.rows != nil && s.raw(y).flags&rowWrapped != 0 }

// blank reports whether the screen is empty.
func (s *screen) blank() bool {
	for y := range s.rows {
		r := &s.rows[y]
		if r.flags&rowText != 0 && r.used > 0 || r.flags&rowText == 0 && r.length() > 0 {
			return false
		}
	}
	return true
}

// touch returns row y of the current screen with its cells allocated, and
// records the change.
func (t *Terminal) touch(y int) *row {
	s := t.scr
	if s.rows == nil {
		s.rows = make([]row, t.rows)
	}
	r := s.raw(y)
	if r.cells == nil || r.flags&rowText != 0 {
		r.make(t.cols)
	}
	r.rev = t.nextRev
	t.changed = true
	return r
}

// make allocates a row's cells.
func (r *row) make(cols int) {
	if r.cells == nil {
		r.cells = make([]cell, cols)
	} else {
		r.toCells()
	}
}

// written returns row y and records a change, or nil if the row has no cells:
// then there is nothing to erase.
func (t *Terminal) written(y int) *row {
	if t.scr.rows == nil || t.scr.raw(y).cells == nil {
		return nil
	}
	return t.touch(y)
}

// wideBelow reports whether the row below y begins with a wide character. If
// so, a spacer at the end of y belongs to it; otherwise it is a blank.
func (s *screen) wideBelow(y int) bool {
	return y+1 < len(s.rows) && s.row(y+1).at(0).isWide()
}

// drop frees the rows.
func (s *screen) drop() { s.rows, s.top = nil, 0 }

// linear rotates the ring so that row 0 is first.
func (s *screen) linear() {
	if s.top == 0 {
		return
	}
	rows := make([]row, 0, len(s.rows))
	rows = append(append(rows, s.rows[s.top:]...), s.rows[:s.top]...)
	s.rows, s.top = rows, 0
}

// clearScreen blanks the current screen, row by row.
func (t *Terminal) clearScreen(blank cell) {
	s := t.scr
	t.changed = true
	if s.rows == nil && blank == 0 {
		return
	}
	for y := range t.rows {
		t.clearRow(y, blank)
	}
}

// clearRow blanks a row of the current screen.
func (t *Terminal) clearRow(y int, blank cell) {
	if blank == 0 {
		if t.scr.rows != nil {
			r := t.scr.raw(y)
			t.changed = t.changed || r.cells != nil
			r.reset(t.nextRev)
		}
		return
	}
	r := t.touch(y)
	r.flags = 0
	r.fill(0, t.cols, blank)
}

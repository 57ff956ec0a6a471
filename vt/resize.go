package vt

// Resize changes the size. The primary screen reflows: wrapped rows are joined
// and wrapped again, and the cursor stays on its character. The alternate
// screen is cut. It returns ErrSize, and changes nothing, for a size outside
// MinCols×MinRows … MaxCols×MaxRows.
func (t *Terminal) Resize(cols, rows int) error {
	if !validSize(cols, rows) {
		return ErrSize
	}
	if cols == t.cols && rows == t.rows {
		return nil
	}
	t.seen()
	t.endSync()
	t.spare = nil
	onMain := t.scr == &t.main
	if onMain {
		t.cutScreen(&t.alt, cols, rows, nil)
		t.reflow(cols, rows)
	} else {
		x, y, pending := t.x, t.y, t.pending
		t.cutScreen(&t.alt, cols, rows, &y)
		t.reflow(cols, rows)
		t.x, t.y, t.pending = min(x, cols-1), min(y, rows-1), pending && x == cols-1
	}
	if t.hist != nil {
		t.trimHistory()
	}
	t.main.saved.clamp(cols, rows)
	t.alt.saved.clamp(cols, rows)
	t.fullMargins()
	t.modes &^= modeLRMM
	t.last.join = false
	t.scr.moved = t.nextRev
	t.changed = true
	if t.modes&modeInBandSize != 0 {
		t.replySize()
	}
	t.commit()
	return nil
}

// clamp moves a saved cursor inside a screen of another size.
func (s *saved) clamp(cols, rows int) {
	s.pending = s.pending && s.x <= cols-1
	s.x, s.y = min(s.x, cols-1), min(s.y, rows-1)
}

// cutScreen resizes a screen without wrapping: rows are removed and added at
// the bottom, or removed at the top if the cursor's row y would go.
func (t *Terminal) cutScreen(s *screen, cols, rows int, y *int) {
	if s.rows == nil {
		return
	}
	s.linear()
	if y != nil && *y >= rows {
		s.rows = s.rows[*y-rows+1:]
		*y = rows - 1
	}
	old := s.rows
	s.rows = make([]row, rows)
	copy(s.rows, old)
	for i := range s.rows {
		s.rows[i].cut(cols)
		s.rows[i].rev = t.nextRev
	}
}

// cut changes the length of a row.
func (r *row) cut(cols int) {
	if r.cells == nil {
		return
	}
	if r.flags&rowText != 0 {
		r.toCells()
	}
	r.splitAt(cols)
	cells := make([]cell, cols)
	n := copy(cells, r.cells[:r.used])
	if n > 0 && cells[n-1].kind() == cellSpacer {
		cells[n-1] = cells[n-1].blanked()
	}
	r.cells, r.used = cells, int32(n)
	r.flags &^= rowWrapped
	r.trim()
}

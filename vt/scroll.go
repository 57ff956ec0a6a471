package vt

// scrollUp moves the rows of a region up by n and inserts blank ones at the
// bottom. Rows that leave the top of the primary screen go to the history.
func (t *Terminal) scrollUp(top, bot, n int) {
	t.changed = true
	n = min(n, bot-top+1)
	if n <= 0 {
		return
	}
	if t.left != 0 || t.right != t.cols-1 {
		t.shiftRows(top, bot, n)
		return
	}
	s := t.scr
	if s.rows == nil {
		s.rows = make([]row, t.rows)
	}
	if top == 0 && s == &t.main {
		for y := range n {
			t.pushScrolled(s.raw(y))
		}
	}
	blank := t.penBlank()
	if top == 0 && bot == t.rows-1 {
		for range n {
			t.turn()
		}
	} else {
		t.rotate(top, bot, n)
	}
	if blank != 0 {
		for y := bot - n + 1; y <= bot; y++ {
			t.clearRow(y, blank)
		}
	}
}

// scrollScreen scrolls the whole screen up by one row.
func (t *Terminal) scrollScreen() {
	if s := t.scr; s == &t.main {
		t.pushScrolled(&s.rows[s.top])
	}
	t.turn()
	if t.pen.style.bg != 0 {
		t.clearRow(t.bot, t.penBlank())
	}
}

// pushScrolled is push for a row that the program scrolled away.
func (t *Terminal) pushScrolled(r *row) {
	t.push(r)
	if t.hist != nil {
		t.hist.moved = 0
	}
}

// turn blanks the first row of the screen and makes it the last.
func (t *Terminal) turn() {
	s := t.scr
	s.rows[s.top].reset(t.nextRev)
	if s.top++; s.top == len(s.rows) {
		s.top = 0
	}
	s.moved = t.nextRev
}

// scrollDown moves the rows of a region down by n and inserts blank ones at the
// top (RI, SD, IL).
func (t *Terminal) scrollDown(top, bot, n int) {
	t.changed = true
	n = min(n, bot-top+1)
	if n <= 0 {
		return
	}
	if t.left != 0 || t.right != t.cols-1 {
		t.shiftRows(top, bot, -n)
		return
	}
	s := t.scr
	if s.rows != nil {
		t.cutOpen(top)
		t.rotate(top, bot, -n)
	}
	if blank := t.penBlank(); blank != 0 {
		for y := top; y < top+n; y++ {
			t.clearRow(y, blank)
		}
	}
}

// cutOpen ends the history's open line: row 0 is about to change.
func (t *Terminal) cutOpen(top int) {
	if top == 0 && t.scr == &t.main && t.hist != nil {
		t.closeLine()
	}
}

// rotate moves whole rows of a region: n up, or -n down. Rows that leave are
// blanked and reused at the other end.
func (t *Terminal) rotate(top, bot, n int) {
	s := t.scr
	height := bot - top + 1
	up := n
	if n < 0 {
		up = height + n
	}
	// Three reversals rotate in place.
	reverseRows(s, top, top+up-1)
	reverseRows(s, top+up, bot)
	reverseRows(s, top, bot)
	first, last := bot-n+1, bot
	if n < 0 {
		first, last = top, top-n-1
	}
	for y := top; y <= bot; y++ {
		r := s.raw(y)
		if y >= first && y <= last {
			r.reset(t.nextRev)
		}
		r.rev = t.nextRev
	}
	// Rows no longer continue across the region's edges. (Going up, the last
	// row may have just wrapped.)
	if n < 0 {
		s.raw(bot).flags &^= rowWrapped
	}
	if top > 0 {
		s.raw(top - 1).flags &^= rowWrapped
	}
}

func reverseRows(s *screen, y0, y1 int) {
	for ; y0 < y1; y0, y1 = y0+1, y1-1 {
		a, b := s.raw(y0), s.raw(y1)
		*a, *b = *b, *a
	}
}

// shiftRows scrolls within left and right margins: it moves cells, not rows.
func (t *Terminal) shiftRows(top, bot, n int) {
	s := t.scr
	blank := t.penBlank()
	if s.rows == nil && blank == 0 {
		return
	}
	x0, x1 := t.left, t.right+1
	for y := top; y <= bot; y++ {
		r := t.touch(y)
		r.splitAt(x0)
		r.splitAt(x1)
		r.flags &^= rowWrapped
	}
	for i := range bot - top + 1 {
		y := top + i
		if n < 0 {
			y = bot - i
		}
		dst := t.touch(y)
		if from := y + n; from >= top && from <= bot {
			src := t.touch(from)
			copy(dst.cells[x0:x1], src.cells[x0:x1])
			dst.flags |= src.flags & (rowWide | rowCluster)
			dst.used = max(dst.used, min(src.used, int32(x1)))
			dst.trim()
		} else {
			dst.fill(x0, x1, blank)
		}
	}
}

// insertLines is IL (ECMA-48 8.3.67): from the cursor's row to the bottom
// margin, if the cursor is within the margins.
func (t *Terminal) insertLines(n int) {
	if t.inRegion() {
		t.scrollDown(t.y, t.bot, n)
		t.carriageReturnToMargin()
	}
}

// deleteLines is DL (ECMA-48 8.3.32). The rows do not go to the history.
func (t *Terminal) deleteLines(n int) {
	if !t.inRegion() {
		return
	}
	if n = min(n, t.bot-t.y+1); t.y == 0 && t.left == 0 && t.right == t.cols-1 {
		t.changed = true
		if t.scr.rows != nil {
			t.cutOpen(0)
			t.rotate(0, t.bot, n)
		}
		if blank := t.penBlank(); blank != 0 {
			for y := t.bot - n + 1; y <= t.bot; y++ {
				t.clearRow(y, blank)
			}
		}
	} else {
		t.scrollUp(t.y, t.bot, n)
	}
	t.carriageReturnToMargin()
}

func (t *Terminal) carriageReturnToMargin() {
	t.x, t.pending = t.left, false
}

// inRegion reports whether the cursor is within all four margins.
func (t *Terminal) inRegion() bool {
	return t.y >= t.top && t.y <= t.bot && t.x >= t.left && t.x <= t.right
}

// insertColumns is DECIC (DEC STD 070, VT420), and DECBI at the left margin:
// inserts n blank columns at x in every row of the region.
func (t *Terminal) insertColumns(x, n int) {
	t.moveColumns(x, n, true)
}

// deleteColumns is DECDC, and DECFI at the right margin.
func (t *Terminal) deleteColumns(x, n int) {
	t.moveColumns(x, n, false)
}

func (t *Terminal) moveColumns(x, n int, insert bool) {
	end := t.right + 1
	n = min(n, end-x)
	blank := t.penBlank()
	t.pending = false
	t.changed = true
	for y := t.top; y <= t.bot; y++ {
		if blank == 0 && t.written(y) == nil {
			continue
		}
		r := t.touch(y)
		r.splitAt(x)
		r.splitAt(end)
		if insert {
			r.splitAt(end - n)
			copy(r.cells[x+n:end], r.cells[x:end-n])
		} else {
			r.splitAt(x + n)
			copy(r.cells[x:end-n], r.cells[x+n:end])
		}
		r.used = int32(t.cols)
		if insert {
			r.fill(x, x+n, blank)
		} else {
			r.fill(end-n, end, blank)
		}
		r.trim()
		r.flags &^= rowWrapped
	}
}

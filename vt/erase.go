package vt

// erase blanks columns [x0, x1) of a row. Cells that have the bits of keep
// stay: cellProtected for selective erasure.
func (t *Terminal) erase(y, x0, x1 int, keep cell) {
	t.changed = true
	if t.modes&modeISOProtect != 0 && keep == 0 {
		t.eraseUnguarded(y, x0, x1)
		return
	}
	t.eraseAll(y, x0, x1, keep)
}

// eraseUnguarded blanks what SPA does not guard (ECMA-48 8.3.129, ERM reset).
func (t *Terminal) eraseUnguarded(y, x0, x1 int) {
	for x := x0; x < x1; {
		end := x
		for r := t.scr.view(y); end < x1 && r.at(end)&cellProtected == 0; {
			end++
		}
		if end > x {
			t.eraseAll(y, x, end, 0)
		}
		x = end + 1
	}
}

func (t *Terminal) eraseAll(y, x0, x1 int, keep cell) {
	blank := t.penBlank()
	if blank == 0 && t.written(y) == nil {
		return
	}
	r := t.touch(y)
	if x1 >= t.cols {
		r.flags &^= rowWrapped
	}
	if keep != 0 {
		t.eraseSome(r, x0, x1)
		return
	}
	r.splitAt(x0)
	r.splitAt(x1)
	r.fill(x0, x1, blank)
	if x0 == 0 && r.used == 0 {
		r.flags &= rowPrompt
	}
}

// eraseSome is selective erasure of a row (DECSED, DECSEL — DEC STD 070):
// renditions stay, and so do cells protected by DECSCA.
func (t *Terminal) eraseSome(r *row, x0, x1 int) {
	x1 = min(x1, int(r.used))
	for x := x0; x < x1; x++ {
		if r.cells[x]&cellProtected != 0 {
			continue
		}
		switch r.cells[x].kind() {
		case cellTail:
			if x > 0 {
				r.cells[x-1] = r.cells[x-1].blanked()
			}
		case cellWide:
			if x+1 < len(r.cells) {
				r.cells[x+1] = r.cells[x+1].blanked()
			}
		}
		r.cells[x] = r.cells[x].blanked()
	}
	r.trim()
}

// eraseLine is EL and DECSEL (ECMA-48 8.3.41).
func (t *Terminal) eraseLine(mode int, keep cell) {
	switch mode {
	case 0:
		t.erase(t.y, t.x, t.cols, keep)
	case 1:
		t.erase(t.y, 0, t.x+1, keep)
	case 2:
		t.erase(t.y, 0, t.cols, keep)
	default:
		return
	}
	t.pending = false
}

// eraseScreen is ED and DECSED (ECMA-48 8.3.39); 3 clears the history (xterm).
func (t *Terminal) eraseScreen(mode int, keep cell) {
	from, to := 0, t.rows
	switch mode {
	case 0:
		t.erase(t.y, t.x, t.cols, keep)
		from = t.y + 1
	case 1:
		t.erase(t.y, 0, t.x+1, keep)
		to = t.y
	case 2:
	case 3:
		t.ClearHistory()
		return
	default:
		return
	}
	for y := from; y < to; y++ {
		t.erase(y, 0, t.cols, keep)
	}
	t.pending = false
}

// eraseChars is ECH (ECMA-48 8.3.38); it ignores margins.
func (t *Terminal) eraseChars(n int) {
	t.erase(t.y, t.x, min(t.x+n, t.cols), 0)
	t.pending = false
}

// deleteChars is DCH (ECMA-48 8.3.26), within the margins.
func (t *Terminal) deleteChars(n int) {
	t.pending = false
	if t.x < t.left || t.x > t.right {
		return
	}
	t.changed = true
	blank := t.penBlank()
	if blank == 0 && t.written(t.y) == nil {
		return
	}
	r := t.touch(t.y)
	x, end := t.x, t.right+1
	n = min(n, end-x)
	r.splitAt(x)
	r.splitAt(x + n)
	r.splitAt(end)
	copy(r.cells[x:end-n], r.cells[x+n:end])
	r.fill(end-n, end, blank)
	r.trim()
	if end == t.cols {
		r.flags &^= rowWrapped
	}
}

// insertChars is ICH (ECMA-48 8.3.64), within the margins.
func (t *Terminal) insertChars(n int) {
	t.pending = false
	if t.x < t.left || t.x > t.right {
		return
	}
	if t.penBlank() == 0 && t.written(t.y) == nil {
		return
	}
	t.insertCells(n)
}

// alignment is DECALN (DEC STD 070): fills the screen with E and resets margins
// and cursor.
func (t *Terminal) alignment() {
	t.fullMargins()
	t.modes &^= modeOrigin
	for y := range t.rows {
		r := t.touch(y)
		r.flags = 0
		r.fill(0, t.cols, 'E')
	}
	t.moveTo(0, 0)
}

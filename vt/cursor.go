package vt

// moveTo moves the cursor to a cell and clears a pending wrap.
func (t *Terminal) moveTo(x, y int) {
	t.x = min(max(x, 0), t.cols-1)
	t.y = min(max(y, 0), t.rows-1)
	t.pending = false
	t.changed = true
}

// address is moveTo with 1-based coordinates, relative to the margins in origin
// mode (CUP, HVP, VPA … — DEC STD 070, DECOM).
func (t *Terminal) address(col, row int) {
	x, y := col-1, row-1
	if t.modes&modeOrigin != 0 {
		x = min(x+t.left, t.right)
		y = min(y+t.top, t.bot)
	}
	t.moveTo(x, y)
}

// origin returns the cell that coordinates are relative to.
func (t *Terminal) origin() (x, y int) {
	if t.modes&modeOrigin != 0 {
		return t.left, t.top
	}
	return 0, 0
}

// up moves the cursor up, to the top margin when it starts below it
// (CUU — ECMA-48 8.3.22).
func (t *Terminal) up(n int) {
	limit := 0
	if t.y >= t.top {
		limit = t.top
	}
	t.moveTo(t.x, max(t.y-n, limit))
}

// down moves the cursor down (CUD — ECMA-48 8.3.19).
func (t *Terminal) down(n int) {
	limit := t.rows - 1
	if t.y <= t.bot {
		limit = t.bot
	}
	t.moveTo(t.x, min(t.y+n, limit))
}

// forward moves the cursor right (CUF — ECMA-48 8.3.20).
func (t *Terminal) forward(n int) {
	t.moveTo(min(t.x+n, t.lineEnd()-1), t.y)
}

// back moves the cursor left (CUB — ECMA-48 8.3.18, BS), with reverse wrap into
// the rows above: mode 45 only through rows that wrapped, mode 1045 through all
// (xterm ctlseqs).
func (t *Terminal) back(n int) {
	reverse := t.modes&modeAutowrap != 0 && t.modes&(modeReverse|modeReverseExt) != 0
	if !reverse {
		t.moveTo(max(t.x-n, t.lineStart()), t.y)
		return
	}
	n = min(n, t.cols*t.rows)
	if t.pending {
		n--
		t.pending = false
	}
	for n > 0 {
		start := t.lineStart()
		if k := min(n, t.x-start); k > 0 {
			t.x -= k
			n -= k
			continue
		}
		if !t.reverseLine() {
			break
		}
		n--
	}
	t.moveTo(t.x, t.y)
}

// reverseLine moves to the end of the row above if reverse wrap allows it.
func (t *Terminal) reverseLine() bool {
	y := t.y - 1
	extended := t.modes&modeReverseExt != 0
	if t.y == t.top || y < 0 {
		if !extended {
			return false
		}
		y = t.bot
	}
	if !extended && t.left == 0 && t.right == t.cols-1 && t.scr.view(y).flags&rowWrapped == 0 {
		return false
	}
	t.x, t.y = t.right, y
	return true
}

// lineStart is the column where movement to the left stops.
func (t *Terminal) lineStart() int {
	if t.x >= t.left {
		return t.left
	}
	return 0
}

// carriageReturn moves to the start of the line (CR — ECMA-48 8.3.15). Left of
// the left margin that is column 1, in origin mode the margin.
func (t *Terminal) carriageReturn() {
	x := t.lineStart()
	if t.modes&modeOrigin != 0 {
		x = t.left
	}
	t.x = x
	t.pending = false
	t.changed = true
}

// lineFeed is LF: one line down in the same column.
func (t *Terminal) lineFeed() {
	t.pending = false
	t.index()
}

// index moves one line down and scrolls at the bottom margin (IND — ECMA-48,
// third edition, 8.3.46). Outside the left and right margins it does not scroll
// (DEC STD 070, DECSLRM).
func (t *Terminal) index() {
	t.changed = true
	switch {
	case t.y != t.bot:
		if t.y < t.rows-1 {
			t.y++
		}
	case t.top == 0 && t.bot == t.rows-1 && t.left == 0 && t.right == t.cols-1 && t.scr.rows != nil:
		t.scrollScreen()
	case t.x >= t.left && t.x <= t.right:
		t.scrollUp(t.top, t.bot, 1)
	}
}

// reverseIndex moves one line up and scrolls at the top margin (RI — ECMA-48
// 8.3.104).
func (t *Terminal) reverseIndex() {
	t.pending = false
	t.changed = true
	switch {
	case t.y != t.top:
		if t.y > 0 {
			t.y--
		}
	case t.x >= t.left && t.x <= t.right:
		t.scrollDown(t.top, t.bot, 1)
	}
}

// saveCursor is DECSC (DEC STD 070 5.4): position, pen, character sets, origin
// mode and pending wrap.
func (t *Terminal) saveCursor() {
	t.penAttr()
	t.scr.saved = saved{
		x: t.x, y: t.y, pending: t.pending, origin: t.modes&modeOrigin != 0,
		pen: t.pen, chars: t.chars,
	}
}

// restoreCursor is DECRC; without an earlier DECSC it homes the cursor and
// resets the rendition.
func (t *Terminal) restoreCursor() {
	s := &t.scr.saved
	link := t.pen.attr & (cellLink | cellSem)
	t.pen = s.pen
	t.pen.attr = t.pen.attr&^(cellLink|cellSem) | link
	t.pen.stale, t.pen.blankOK = true, false
	t.chars = s.chars
	t.setMode(modeOrigin, s.origin)
	t.moveTo(s.x, s.y)
	t.pending = s.pending && t.x == t.lineEnd()-1 && t.modes&modeAutowrap != 0
	t.updateSlow()
}

// tab moves forward to the n-th tab stop or the end of the line (HT, CHT).
func (t *Terminal) tab(n int) {
	limit := t.lineEnd() - 1
	x := t.x
	for ; n > 0 && x < limit; n-- {
		x++
		for x < limit && !t.isTab(x) {
			x++
		}
	}
	// A pending wrap stays: HT on the last column moves nothing (xterm).
	t.x = x
	t.changed = true
}

// backTab moves back to the n-th tab stop (CBT — ECMA-48 8.3.7).
func (t *Terminal) backTab(n int) {
	limit := 0
	if t.modes&modeOrigin != 0 {
		limit = t.left
	}
	x := t.x
	for ; n > 0 && x > limit; n-- {
		x--
		for x > limit && !t.isTab(x) {
			x--
		}
	}
	t.moveTo(x, t.y)
}

func (t *Terminal) isTab(x int) bool {
	if t.tabs == nil {
		return x&7 == 0
	}
	return t.tabs[x>>6]>>(x&63)&1 != 0
}

// ownTabs allocates the tab stops before a program changes them: one every
// eight columns.
func (t *Terminal) ownTabs() {
	if t.tabs != nil {
		return
	}
	t.lasted |= lastingTabs
	t.tabs = new(tabStops)
	for i := range t.tabs {
		t.tabs[i] = 0x0101010101010101
	}
}

// setTab sets or clears one stop (HTS, TBC 0).
func (t *Terminal) setTab(x int, on bool) {
	t.ownTabs()
	if on {
		t.tabs[x>>6] |= 1 << (x & 63)
	} else {
		t.tabs[x>>6] &^= 1 << (x & 63)
	}
}

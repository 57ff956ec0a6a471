package vt

// flowLine is a logical line: cells without the spacers of wrapped rows.
type flowLine struct {
	cells  []cell
	prompt bool
}

// place is a position kept through a reflow: first as row and column, then
// within the lines, then as row and column again.
type place struct {
	x, y      int
	line, off int
	pending   bool
	found     bool
}

// flow is the state of one reflow of the primary screen.
type flow struct {
	t      *Terminal
	cols   int
	lines  []flowLine
	places [2]place // cursor, saved cursor
	rows   []row
}

// reflow gives the primary screen a new size. Lines that do not fit go to the
// history; a screen that was full gets lines back from there.
func (t *Terminal) reflow(cols, rows int) {
	s := &t.main
	f := flow{t: t, cols: cols}
	f.places[0] = place{x: t.x, y: t.y, pending: t.pending}
	f.places[1] = place{x: s.saved.x, y: s.saved.y, pending: s.saved.pending}
	if s.rows == nil {
		if t.hist == nil && (t.scr != s || t.y < rows) { // only the cursor moves
			t.cols, t.rows = cols, rows
			t.moveTo(t.x, t.y)
			return
		}
		s.rows = make([]row, t.rows)
	}
	last := f.lastRow()
	full := last == t.rows-1
	known, wraps := 0, t.cols != cols // rows of the history that earlier sizes moved there
	if t.hist != nil {
		known = t.hist.moved
	}
	t.held = true
	f.gather(last)
	partly := f.takeOpen()
	if full && wraps && known > 0 { // as many rows as they are now
		f.cols = t.cols
		partly = f.pull(last+1+known) > last+1+known
		f.cols = cols
	}
	if full {
		f.pull(rows)
	}
	t.cols, t.rows = cols, rows
	f.layout()
	t.held = false
	f.place(rows)
	f.moved(known-(len(f.rows)-last-1), wraps, partly)
}

// moved counts the rows of the history that the size moved there: what is left of those
// that were known, and the surplus. If the rows are others than before, a line that was
// only partly moved does not count.
func (f *flow) moved(left int, wraps, partly bool) {
	h := f.t.hist
	if h == nil {
		return
	}
	if wraps {
		left = 0
		if partly {
			left = -f.height(f.lines[0].cells)
		}
	}
	h.moved = max(left+max(len(f.rows)-f.t.rows, 0), 0)
}

// unscroll is CSI Ps + T of kitty: it takes the newest rows of the history back to the top
// of the screen, whose last rows go. Here only rows that a smaller size moved into the
// history come back: a program cannot take what it has written away from its reader. At
// most all rows but one at a time.
func (t *Terminal) unscroll(n int) {
	if t.scr != &t.main || t.hist == nil {
		return
	}
	n = min(n, t.hist.moved, t.rows-1)
	if n <= 0 {
		return
	}
	s := t.scr
	if s.rows == nil {
		s.rows = make([]row, t.rows)
	}
	x, y := t.x, t.y
	f := flow{t: t, cols: t.cols}
	t.held = true
	f.gather(t.rows - n - 1)
	f.takeOpen()
	f.pull(t.rows)
	f.layout()
	t.held = false
	f.place(t.rows)
	t.moveTo(x, y)
	t.hist.moved -= n
	s.moved = t.nextRev
	t.changed = true
}

// lastRow is the last row with text or the cursor.
func (f *flow) lastRow() int {
	t := f.t
	y := t.rows - 1
	for y > 0 && t.main.row(y).length() == 0 && !(y == t.y && t.scr == &t.main) {
		y--
	}
	return y
}

// gather joins the rows up to last into lines.
func (f *flow) gather(last int) {
	t := f.t
	var l flowLine
	for y := range last + 1 {
		r := t.main.row(y)
		if r.flags&rowPrompt != 0 && len(l.cells) == 0 {
			l.prompt = true
		}
		f.enter(y, len(f.lines), len(l.cells))
		wrapped := r.flags&rowWrapped != 0
		n := r.length()
		l.cells = append(l.cells, r.cells[:n]...)
		if wrapped {
			if n == t.cols && r.cells[n-1].kind() == cellSpacer {
				l.cells = l.cells[:len(l.cells)-1]
				if !t.main.wideBelow(y) {
					l.cells = append(l.cells, 0)
				}
			} else {
				l.cells = append(l.cells, make([]cell, t.cols-n)...)
			}
		}
		if !wrapped || y == last {
			f.lines = append(f.lines, l)
			l = flowLine{}
		}
	}
}

// enter notes the places on row y, which starts at off in a line.
func (f *flow) enter(y, line, off int) {
	for i := range f.places {
		if p := &f.places[i]; p.y == y && !p.found {
			p.found = true
			p.line, p.off = line, off+p.x
			if p.pending {
				p.off++
			}
		}
	}
}

// takeOpen prepends the history's open line to the first line, which continues
// it, and reports whether there is one.
func (f *flow) takeOpen() bool {
	h := f.t.hist
	if h == nil || !h.open.any || len(f.lines) == 0 {
		return false
	}
	l := f.fromHistory(h.openLine())
	if c := f.lines[0].cells; h.open.spacer && (len(c) == 0 || !c[0].isWide()) {
		l.cells = append(l.cells, 0)
	}
	h.open = openLine{text: h.open.text[:0], spans: h.open.spans[:0]}
	f.prepend(l)
	return true
}

// prepend inserts cells at the start of the first line.
func (f *flow) prepend(l flowLine) {
	for i := range f.places {
		if p := &f.places[i]; p.found && p.line == 0 {
			p.off += len(l.cells)
		}
	}
	f.lines[0].cells = append(l.cells, f.lines[0].cells...)
	f.lines[0].prompt = l.prompt
}

// pull takes lines back from the history until there are enough rows, and returns how
// many there are.
func (f *flow) pull(rows int) (have int) {
	for _, l := range f.lines {
		have += f.height(l.cells)
	}
	for have < rows {
		hl, ok := f.t.popLine()
		if !ok {
			break
		}
		l := f.fromHistory(hl)
		if hl.flags&lineContinued != 0 {
			have -= f.height(f.lines[0].cells)
			f.prepend(l)
		} else {
			f.lines = append([]flowLine{l}, f.lines...)
			for i := range f.places {
				f.places[i].line++
			}
		}
		have += f.height(f.lines[0].cells)
	}
	return have
}

// height is the number of rows of a line.
func (f *flow) height(cells []cell) int {
	n := 1
	for len(cells) > f.cols {
		k := f.fit(cells)
		if cells = cells[k:]; blankCells(cells) {
			break
		}
		n++
	}
	return n
}

// fit is how many cells of a line fit in a row: a wide cell is not split.
func (f *flow) fit(cells []cell) int {
	if len(cells) <= f.cols {
		return len(cells)
	}
	if cells[f.cols].isTail() {
		return f.cols - 1
	}
	return f.cols
}

// blankCells reports whether cells have no text: colour alone does not wrap.
func blankCells(cells []cell) bool {
	for _, c := range cells {
		if c&cellContent != 0 || c.isTail() {
			return false
		}
	}
	return true
}

// layout wraps the lines into rows.
func (f *flow) layout() {
	for i, l := range f.lines {
		pos := 0
		for {
			rest := l.cells[pos:]
			n := f.fit(rest)
			more := n < len(rest) && !blankCells(rest[n:])
			f.addRow(rest[:n], more, l.prompt && pos == 0)
			f.leave(i, pos, n, !more)
			if pos += n; !more {
				break
			}
		}
	}
}

// addRow adds a row.
func (f *flow) addRow(cells []cell, more, prompt bool) {
	r := row{rev: f.t.nextRev}
	if len(cells) > 0 {
		r.cells = make([]cell, f.cols)
		r.used = int32(copy(r.cells, cells))
		for _, c := range cells {
			r.note(c)
		}
	}
	if more {
		r.flags |= rowWrapped
		if len(cells) < f.cols {
			r.set(f.cols-1, cellSpacer)
		}
	}
	if prompt {
		r.flags |= rowPrompt
	}
	f.rows = append(f.rows, r)
}

// leave maps the places within a row of a line back to row and column.
func (f *flow) leave(line, pos, n int, last bool) {
	for i := range f.places {
		p := &f.places[i]
		if !p.found || p.line != line || p.off < pos || p.off >= pos+n && !last {
			continue
		}
		p.y = len(f.rows) - 1
		p.x = p.off - pos
		p.pending = p.x == f.cols && n == f.cols
		p.x = min(p.x, f.cols-1)
		p.line = -1
	}
}

// place puts the rows on the screen, and surplus ones into the history.
func (f *flow) place(rows int) {
	t, s := f.t, &f.t.main
	surplus := max(len(f.rows)-rows, 0)
	for i := range surplus {
		t.push(&f.rows[i])
	}
	s.rows, s.top = make([]row, rows), 0
	copy(s.rows, f.rows[surplus:])
	for i := range s.rows {
		s.rows[i].rev = t.nextRev
	}
	cur, sav := &f.places[0], &f.places[1]
	if t.scr == s {
		t.moveTo(cur.x, cur.y-surplus)
		t.pending = cur.pending && cur.y >= surplus && t.modes&modeAutowrap != 0
	}
	if s.saved != (saved{}) {
		s.saved.x, s.saved.y = min(sav.x, t.cols-1), min(max(sav.y-surplus, 0), rows-1)
		s.saved.pending = sav.pending
	}
}

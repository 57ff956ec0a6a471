package vt

// runRune reads a character of two or three bytes that is right and not cut,
// and returns 0 for anything else, which takes the longer way.
func runRune(p []byte) (r rune, n int) {
	if len(p) >= 3 {
		if r, ok := threeBytes(p); ok {
			return r, 3
		}
	}
	switch c := p[0]; {
	case c >= 0xc3 && c <= 0xdf && len(p) >= 2 && p[1]&0xc0 == 0x80:
		return rune(c&0x1f)<<6 | rune(p[1]&0x3f), 2
	}
	return 0, 0
}

// roomFor wraps, so that a character of width columns fits before end. It
// reports false when what is to be done is not for a run.
func (t *Terminal) roomFor(width, end int) bool {
	switch {
	case t.pending:
		t.wrap()
	case width == 1 || t.modes&modeAutowrap == 0:
		return false
	default:
		t.makeRoom(end)
	}
	return true
}

// printRun prints the characters at the start of p that stand for themselves:
// of one or two columns, in no cluster with others. It returns how many bytes
// it took, 0 when there is none.
func (t *Terminal) printRun(p []byte) int {
	if t.modes&modeInsert != 0 || t.last.join && t.last.gr > grOther {
		return 0
	}
	attr := t.penAttr()
	var row *row
	x, end, n := t.x, t.lineEnd(), 0
	var content cell
	var at int
	for n < len(p) {
		r, size := runRune(p[n:])
		if size == 0 {
			break
		}
		width := 2
		if r < 0x4e00 || r > 0x9fff { // the ideographs are known
			width = int(property(r))
		}
		if width != 1 && width != 2 { // no class, no more than a width
			break
		}
		if t.pending || x+width > end {
			t.x = x
			if !t.roomFor(width, end) {
				break
			}
			row, x, end = nil, t.x, t.lineEnd()
		}
		if row == nil {
			row = t.touch(t.y)
			if k := row.appendWide(p[n:], attr, x, end-1); k > 0 {
				n += 3 * k
				x += 2 * k
				content, at = row.cells[x-2]&cellGlyph, x-2
				continue
			}
		}
		if x < int(row.used) {
			row.splitAt(x)
			row.splitAt(x + width)
		}
		content, at = cell(r), x
		if width == 2 {
			content |= cellWide
			row.cells[x+1] = attr | cellTail
			row.flags |= rowWide
		}
		row.cells[x] = attr | content
		n += size
		x += width
		row.used = max(row.used, int32(x))
		if x >= end {
			x = end - 1
			t.pending = t.modes&modeAutowrap != 0
			if !t.pending { // each further one takes the same place
				break
			}
		}
	}
	if n > 0 {
		t.x = x
		t.last = lastText{cell: content, x: int32(at), y: int32(t.y), join: true, gr: grOther}
	}
	return n
}

// appendWide puts the characters of two columns at the start of p, each of three
// bytes, at column x, as far as they end before the column end and nothing
// stands there. It returns their number.
func (r *row) appendWide(p []byte, attr cell, x, end int) int {
	if x < int(r.used) {
		return 0
	}
	cells, start := r.cells[:max(end, x)], x
	attr |= cellWide
	for x+2 <= len(cells) && len(p) >= 3 {
		c, ok := threeBytes(p)
		if !ok || (c < 0x4e00 || c > 0x9fff) && property(c) != 2 {
			break
		}
		cells[x], cells[x+1] = attr|cell(c), attr^cellWide|cellTail
		p = p[3:]
		x += 2
	}
	if x > start {
		r.used = int32(x)
		r.flags |= rowWide
	}
	return (x - start) / 2
}

// threeBytes reads a character of three bytes, which p has, if it is right and
// needs no further look.
func threeBytes(p []byte) (r rune, ok bool) {
	c := p[0]
	ok = c >= 0xe1 && c <= 0xef && c != 0xed && p[1]&0xc0 == 0x80 && p[2]&0xc0 == 0x80
	return rune(c&0x0f)<<12 | rune(p[1]&0x3f)<<6 | rune(p[2]&0x3f), ok
}

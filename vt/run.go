package vt

import "gascity.dev/gc/vt/internal/char"

// runRune decodes a complete, valid character of two or three bytes. n is 0 for
// anything else, which takes the general path.
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

// roomFor wraps if needed, so that a character of width columns fits before
// end. It returns false if the run cannot handle the case.
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

// printRun prints the leading characters of p that form no cluster, one or two
// columns wide. It returns the number of bytes consumed, 0 if there are none.
func (t *Terminal) printRun(p []byte) int {
	if t.modes&modeInsert != 0 || t.last.join && t.last.gr > char.Marks {
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
		if r < 0x4e00 || r > 0x9fff { // the ideographs need no lookup
			width = int(char.Of(r))
		}
		if width != 1 && width != 2 { // no class, only a width
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
			if !t.pending { // each further one overwrites the last
				break
			}
		}
	}
	if n > 0 {
		t.x = x
		t.last = lastText{cell: content, x: int32(at), y: int32(t.y), join: true, gr: char.Marks}
	}
	return n
}

// appendWide puts the leading two-column characters of p, three bytes each, at
// column x, while they end before column end and the row is empty there. It
// returns their number.
func (r *row) appendWide(p []byte, attr cell, x, end int) int {
	if x < int(r.used) {
		return 0
	}
	cells, start := r.cells[:max(end, x)], x
	attr |= cellWide
	for x+2 <= len(cells) && len(p) >= 3 {
		c, ok := threeBytes(p)
		if !ok || (c < 0x4e00 || c > 0x9fff) && char.Of(c) != char.Wide {
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

// threeBytes decodes a character of three bytes, which p has, if it is valid
// and needs no further check.
func threeBytes(p []byte) (r rune, ok bool) {
	c := p[0]
	ok = c >= 0xe1 && c <= 0xef && c != 0xed && p[1]&0xc0 == 0x80 && p[2]&0xc0 == 0x80
	return rune(c&0x0f)<<12 | rune(p[1]&0x3f)<<6 | rune(p[2]&0x3f), ok
}

package vt

import (
	"encoding/binary"
	"math/bits"

	"gascity.dev/gc/vt/internal/char"
)

// pen is the rendition of new characters.
type pen struct {
	style   style
	attr    cell // style, link, protection and semantic bits
	blank   cell // the blank cell that erasing leaves, valid if blankOK
	blankOK bool
	stale   bool // style has changed since attr was computed
}

// lastText is the last printed character, for REP and combining marks.
type lastText struct {
	cell cell       // its content and kind
	x, y int32      // its position
	join bool       // only SGR came since
	rep  bool       // join as it was before the current control sequence
	gr   char.State // what may join it
}

// penAttr returns the attribute bits of new cells.
func (t *Terminal) penAttr() cell {
	if t.pen.stale {
		t.pen.stale = false
		id := t.styleID(t.pen.style)
		t.pen.attr = t.pen.attr&^cellStyle | cell(id)<<cellStyleShift
	}
	return t.pen.attr
}

// penBlank returns the cell that erasing leaves: the pen's background (xterm's
// back colour erase).
func (t *Terminal) penBlank() cell {
	if t.pen.style.bg == 0 {
		return 0
	}
	if !t.pen.blankOK {
		id := t.styleID(style{bg: t.pen.style.bg})
		t.pen.blank = cell(id) << cellStyleShift
		t.pen.blankOK = true
	}
	return t.pen.blank
}

// asciiRun returns the length of the printable ASCII at the start of p.
func asciiRun(p []byte) int {
	i := 0
	for ; i+8 <= len(p); i += 8 {
		if m := notPrintable(binary.LittleEndian.Uint64(p[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(p) && p[i] >= 0x20 && p[i] < 0x7f {
		i++
	}
	return i
}

// lineEnd returns the column after the last one available to text.
func (t *Terminal) lineEnd() int {
	if t.x <= t.right {
		return t.right + 1
	}
	return t.cols
}

// printASCII prints the printable ASCII at the start of p, at least one byte,
// and returns its length.
func (t *Terminal) printASCII(p []byte) int {
	if t.slow || t.last.gr == char.Prepended && t.last.join {
		t.printRune(t.chars.left(p[0]))
		t.updateSlow()
		return 1
	}
	if n := t.appendText(p); n > 0 {
		return n
	}
	if n := t.appendCells(p); n > 0 {
		return n
	}
	n := asciiRun(p)
	attr := t.penAttr()
	edge := false // the last one fills the last column; the wrap is pending
	for i := 0; i < n; {
		if t.pending {
			t.wrap()
		}
		end := t.lineEnd()
		k := min(n-i, end-t.x)
		t.putASCII(p[i:i+k], attr)
		i += k
		if t.x += k; t.x < end {
			edge = false
			break
		}
		t.x--
		edge = true
		if t.modes&modeAutowrap != 0 {
			t.pending = true
			continue
		}
		if i < n { // only the last one remains
			t.putASCII(p[n-1:n], attr)
			i = n
		}
	}
	t.last = lastText{cell: cell(p[n-1]), x: int32(t.x), y: int32(t.y), join: true, gr: char.Marks}
	if !edge {
		t.last.x--
	}
	return n
}

// appendCells prints the printable ASCII at the start of p after the content of
// the cursor's row, short of the row's end, and returns the number of bytes
// printed: 0 if the simple case does not apply.
func (t *Terminal) appendCells(p []byte) int {
	if t.pending || t.scr.rows == nil {
		return 0
	}
	r := t.scr.raw(t.y)
	if r.cells == nil || r.flags&rowText != 0 || int(r.used) != t.x {
		return 0
	}
	attr, n := t.penAttr(), 0
	dst := r.cells[t.x:max(t.lineEnd()-1, t.x)]
	for len(p)-n >= 8 && len(dst)-n >= 8 {
		v := binary.LittleEndian.Uint64(p[n:])
		if notPrintable(v) != 0 {
			break
		}
		putWord(dst[n:], v, attr)
		n += 8
	}
	for n < len(p) && n < len(dst) && p[n] >= 0x20 && p[n] < 0x7f {
		dst[n] = attr | cell(p[n])
		n++
	}
	if n == 0 || n == len(dst) {
		return 0 // the last column is not the simple case
	}
	t.x += n
	r.used, r.rev = int32(t.x), t.nextRev
	t.changed = true
	t.last = lastText{cell: cell(p[n-1]), x: int32(t.x - 1), y: int32(t.y), join: true, gr: char.Marks}
	return n
}

// putWord writes eight characters to cells.
func putWord(dst []cell, v uint64, attr cell) {
	dst = dst[:8]
	dst[0] = attr | cell(v&0xff)
	dst[1] = attr | cell(v>>8&0xff)
	dst[2] = attr | cell(v>>16&0xff)
	dst[3] = attr | cell(v>>24&0xff)
	dst[4] = attr | cell(v>>32&0xff)
	dst[5] = attr | cell(v>>40&0xff)
	dst[6] = attr | cell(v>>48&0xff)
	dst[7] = attr | cell(v>>56)
}

// putASCII writes text that fits to the cells at the cursor.
func (t *Terminal) putASCII(p []byte, attr cell) {
	r := t.touch(t.y)
	x, end := t.x, t.x+len(p)
	if r.flags&rowWide != 0 {
		r.splitAt(x)
		r.splitAt(end)
		if end == t.cols && r.cells[end-1].kind() == cellSpacer {
			r.flags &^= rowWrapped
		}
	}
	dst := r.cells[x:end]
	for len(p) >= 8 && len(dst) >= 8 {
		putWord(dst, binary.LittleEndian.Uint64(p), attr)
		p, dst = p[8:], dst[8:]
	}
	for i := range min(len(p), len(dst)) {
		dst[i] = attr | cell(p[i])
	}
	r.used = max(r.used, int32(end))
}

// wrap moves to the next line and marks the row as continued. A wrap is pending
// only with DECAWM, and resetting DECAWM clears it.
func (t *Terminal) wrap() {
	t.pending = false
	if t.x == t.cols-1 && t.left == 0 && (t.y == t.bot || t.y < t.rows-1) && t.scr.rows != nil {
		r := t.scr.raw(t.y)
		if r.flags&rowText == 0 {
			r = t.touch(t.y)
		}
		if int(r.used) == t.cols && (r.flags&rowText != 0 || r.cells[t.x] != 0) {
			r.flags |= rowWrapped
			r.rev = t.nextRev
		}
	}
	t.index()
	t.x = t.left
}

// printRune prints a character other than a control character.
func (t *Terminal) printRune(r rune) {
	p := char.Of(r)
	class := p.Class()
	gr := char.Marks
	if class != char.Other || t.last.gr > char.Marks && t.last.join {
		if t.joined(r, p) {
			return
		}
		gr = char.Start(class)
		if w := p.Width(); class.IsMark() && (w > 0 || class == char.Spacing) && t.modes&modeGrapheme != 0 { // without a base: give it a blank one
			t.put(t.clusterCell(appendRune([]byte{' '}, r)), max(w, 1))
			return
		}
	}
	width := p.Width()
	if t.modes&modeGrapheme == 0 {
		width = p.Wcwidth()
	}
	if width == 0 {
		t.mark(r)
		return
	}
	t.put(cell(r), width)
	t.last.gr = gr
}

// put prints a cell's content, one or two columns wide.
func (t *Terminal) put(content cell, width int) {
	if t.pending {
		t.wrap()
	}
	end := t.lineEnd()
	if width == 2 && t.x+2 > end {
		t.makeRoom(end)
		end = t.lineEnd()
	}
	if t.modes&modeInsert != 0 {
		t.insertCells(width)
	}
	attr := t.penAttr()
	r := t.touch(t.y)
	x := t.x
	r.splitAt(x)
	r.splitAt(x + width)
	if width == 1 {
		r.cells[x] = attr | content
	} else {
		content |= cellWide
		r.cells[x] = attr | content
		r.cells[x+1] = attr | cellTail
	}
	r.used = max(r.used, int32(x+width))
	r.note(content)
	t.last = lastText{cell: content, x: int32(x), y: int32(t.y), join: true}
	if t.x += width; t.x >= end {
		t.x = end - 1
		t.pending = t.modes&modeAutowrap != 0
	}
}

// makeRoom moves the cursor to where a wide character fits: the next line, or
// without DECAWM the last two columns.
func (t *Terminal) makeRoom(end int) {
	if t.modes&modeAutowrap == 0 {
		t.x = end - 2
		return
	}
	if end == t.cols {
		r := t.touch(t.y)
		r.splitAt(t.x)
		r.set(t.x, cellSpacer)
	}
	t.wrap()
}

// insertCells shifts the rest of the line right by n columns (IRM, ICH).
func (t *Terminal) insertCells(n int) {
	end := t.lineEnd()
	r := t.touch(t.y)
	x := t.x
	n = min(n, end-x)
	r.splitAt(x)
	r.splitAt(end)
	r.splitAt(end - n)
	copy(r.cells[x+n:end], r.cells[x:end-n])
	r.used = int32(t.cols)
	r.fill(x, x+n, t.penBlank())
	r.trim()
	if end == t.cols {
		r.flags &^= rowWrapped
	}
}

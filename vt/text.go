package vt

import (
	"encoding/binary"
	"math/bits"
)

// Output is mostly lines of ASCII that are written once, from the left, and
// scroll away. Such a row is kept as text (rowText) and not as cells: its first
// words hold a byte a column, 0 for one that was skipped, and from the last word
// down stand its runs, each the attributes of cells and in their content the
// column that the run begins in. Only more text to the right of what is there is
// put into it so; anything else that is done to it, and reading more of it than
// its text, make cells of it first (screen.row). Words that hold neither have no meaning.

// maxRuns is how many runs a row of text may have.
const maxRuns = 16

const (
	eachHigh = 0x8080808080808080 // the top bit of each byte of a word
	eachOne  = 0x0101010101010101
)

// notPrintable marks in the top bit of its byte the first byte of a word that is
// not printable ASCII: 0x80 and above, below 0x20, or 0x7F. A borrow or carry
// spoils only bytes above that one.
func notPrintable(v uint64) uint64 {
	return (v | (v - 0x20*eachOne) | (v + eachOne)) & eachHigh
}

// words is how many words the text of a row takes.
func (r *row) words() int { return int(uint32(r.used)+7) / 8 }

// appendText puts the printable ASCII at the start of p, at least one byte, into
// the cursor's row, as far as there is room, and returns how many bytes that
// were: 0 when they must be written as cells.
func (t *Terminal) appendText(p []byte) int {
	if t.modes&modeAutowrap == 0 {
		return 0
	}
	if t.pending {
		t.wrap()
	}
	if t.scr.rows == nil {
		t.touch(t.y)
	}
	r, x := t.scr.raw(t.y), t.x
	if r.flags&rowText == 0 && r.used > 0 {
		return 0
	}
	if t.pen.stale {
		t.penAttr()
	}
	if r.flags&rowText == 0 || int(r.used) != x {
		if !t.textHere(r) {
			return 0
		}
	}
	if k := len(r.cells) - int(r.runs); r.runs == 0 || r.cells[k]&cellAttr != t.pen.attr {
		if !r.run(t.pen.attr) {
			return 0
		}
	}
	end := t.lineEnd()
	n := r.appendASCII(p, end-x)
	r.rev = t.nextRev
	t.changed = true
	x += n
	t.last = lastText{cell: cell(p[n-1]), x: int32(x - 1), y: int32(t.y), join: true, gr: grOther}
	if x == end {
		x--
		t.pending = true
	}
	t.x = x
	return n
}

// textHere makes the cursor's row ready for text at the cursor, if it can be
// kept as text.
func (t *Terminal) textHere(r *row) bool {
	if r.flags&rowText == 0 { // it is blank
		if r.cells == nil {
			r.cells = make([]cell, t.cols)
		}
		r.flags = r.flags&(rowWrapped|rowPrompt) | rowText
	}
	if int(r.used) > t.x {
		return false
	}
	return int(r.used) == t.x || r.skip(t.x)
}

// run begins a run at the end of the text. When there is no room for it, the row
// becomes cells, and run reports false.
func (r *row) run(attr cell) bool {
	at := len(r.cells) - int(r.runs) - 1
	if r.runs == maxRuns || at < r.lastWord()+2 { // a word more, see appendASCII
		r.toCells()
		return false
	}
	r.cells[at] = attr | cell(r.used)
	r.runs++
	return true
}

// lastWord is the word of the last column.
func (r *row) lastWord() int { return (len(r.cells) - 1) / 8 }

// skip leaves columns out up to x.
func (r *row) skip(x int) bool {
	if k := len(r.cells) - int(r.runs); r.runs == 0 || r.cells[k]&cellAttr != 0 {
		if !r.run(0) {
			return false
		}
	}
	clear(r.cells[r.words() : x/8+1])
	r.used = int32(x)
	return true
}

// appendASCII puts the printable ASCII at the start of p at the end of a row of
// text, room bytes at most, and returns their number.
func (r *row) appendASCII(p []byte, room int) int {
	words, w, shift := r.cells, int(uint32(r.used)>>3), uint(r.used&7)*8
	carry := uint64(words[w]) & (1<<(shift&63) - 1) // the bytes of the word being filled
	n, room := 0, min(room, len(p))
	for ; n+8 <= room; n += 8 {
		v := binary.LittleEndian.Uint64(p[n:])
		if notPrintable(v) != 0 {
			break
		}
		words[w] = cell(carry | v<<(shift&63))
		carry = v >> 8 >> ((56 - shift) & 63)
		w++
	}
	var v uint64
	if n+8 <= len(p) {
		v = binary.LittleEndian.Uint64(p[n:])
	} else {
		for i, c := range p[n:] {
			v |= uint64(c) << (uint(i) * 8 & 63)
		}
	}
	k := min(bits.TrailingZeros64(notPrintable(v))/8, room-n)
	v &= 1<<(uint(k)*8&63) - 1
	words[w] = cell(carry | v<<(shift&63))
	words[w+1] = cell(v >> 8 >> ((56 - shift) & 63))
	n += k
	r.used += int32(n)
	return n
}

// appendTo writes what a row of text shows: of a row that continues, every
// column.
func (r *row) appendTo(dst []byte) []byte {
	from := len(dst)
	for _, w := range r.cells[:r.words()] {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(w))
	}
	dst = dst[:from+int(r.used)]
	for i, c := range dst[from:] {
		if c == 0 { // skipped
			dst[from+i] = ' '
		}
	}
	if r.flags&rowWrapped != 0 {
		for range len(r.cells) - int(r.used) {
			dst = append(dst, ' ')
		}
	}
	return dst
}

// toCells ends a row's being kept as text.
func (r *row) toCells() {
	var buf [maxRuns]cell
	cells, used := r.cells, int(r.used)
	runs := buf[:copy(buf[:], cells[len(cells)-int(r.runs):])]
	for w := r.words() - 1; w >= 0; w-- { // each word is above those still to be read
		v := uint64(cells[w])
		for i, dst := 0, cells[w*8:min(w*8+8, len(cells))]; i < len(dst); i++ {
			dst[i] = cell(v & 0xff)
			v >>= 8
		}
	}
	clear(cells[used:])
	for end := used; len(runs) > 0; runs = runs[1:] {
		start, attr := int(runs[0]&cellGlyph), runs[0]&cellAttr
		if attr != 0 {
			part := cells[start:end]
			for i := range part {
				part[i] |= attr
			}
		}
		end = start
	}
	r.runs = 0
	r.flags &^= rowText
}

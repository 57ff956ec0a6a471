package vt

import (
	"encoding/binary"
	"math/bits"

	"gascity.dev/gc/vt/internal/char"
)

// Output is mostly lines of ASCII, written once from the left, that scroll
// away. Such a row is kept as text (rowText), not as cells: its first words
// hold one byte per column, 0 for a skipped one, and from the last word down
// are its runs, each the attributes of cells with the run's first column as
// content. Only appending text on the right keeps this form; any other change,
// and any reading beyond its text, converts it to cells first (screen.row).
// Words used for neither are undefined.

// maxRuns is the limit of runs in a text row.
const maxRuns = 16

const (
	eachHigh = 0x8080808080808080 // the top bit of each byte of a word
	eachOne  = 0x0101010101010101
)

// notPrintable sets the top bit of the first byte in a word that is not
// printable ASCII: 0x80 and above, below 0x20, or 0x7F. A borrow or carry
// affects only bytes above that one.
func notPrintable(v uint64) uint64 {
	return (v | (v - 0x20*eachOne) | (v + eachOne)) & eachHigh
}

// words is the number of words used by the text of a row.
func (r *row) words() int { return int(uint32(r.used)+7) / 8 }

// appendText appends the printable ASCII at the start of p, at least one byte,
// to the cursor's row as far as it fits, and returns the number of bytes: 0 if
// they must be written as cells.
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
	t.last = lastText{cell: cell(p[n-1]), x: int32(x - 1), y: int32(t.y), join: true, gr: char.Marks}
	if x == end {
		x--
		t.pending = true
	}
	t.x = x
	return n
}

// textHere prepares the cursor's row for text at the cursor, if it can be kept
// as text.
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

// run begins a run at the end of the text. If there is no space for it, it
// converts the row to cells and returns false.
func (r *row) run(attr cell) bool {
	at := len(r.cells) - int(r.runs) - 1
	if r.runs == maxRuns || at < r.lastWord()+2 { // one spare word, see appendASCII
		r.toCells()
		return false
	}
	r.cells[at] = attr | cell(r.used)
	r.runs++
	return true
}

// lastWord is the index of the last column's word.
func (r *row) lastWord() int { return (len(r.cells) - 1) / 8 }

// skip leaves columns blank up to x.
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

// appendASCII appends the printable ASCII at the start of p to a text row, at
// most room bytes, and returns their number.
func (r *row) appendASCII(p []byte, room int) int {
	words, w, shift := r.cells, int(uint32(r.used)>>3), uint(r.used&7)*8
	carry := uint64(words[w]) & (1<<(shift&63) - 1) // the bytes of the partly filled word
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

// appendTo appends the text of a text row: all columns if the row continues.
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

// toCells converts a text row to cells.
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

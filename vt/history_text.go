package vt

import (
	"encoding/binary"
	"slices"
)

// pushText adds a row kept as text to the history and reports whether it could.
// A row that is a whole line goes straight into the page.
func (t *Terminal) pushText(h *history, r *row) bool {
	o := &h.open
	n, wrapped := int(r.used), r.flags&rowWrapped != 0
	if !o.any && !wrapped {
		t.textLine(h, r)
		return true
	}
	if n == 0 || wrapped && n < t.cols || o.spacer {
		return false
	}
	if !o.any {
		o.any, o.flags = true, t.newLine(r)
	}
	o.rows++
	o.cols += n
	size := len(o.text)
	o.text = slices.Grow(o.text, n+textRoom)
	r.copyText(o.text[size:cap(o.text)])
	o.text = o.text[:size+n]
	for i := range int(r.runs) {
		attr, k := r.textRun(i)
		rendition := 0
		if attr != 0 {
			rendition = t.renditionFor(h, attr)
		}
		o.addSpan(k, rendition)
	}
	if !wrapped {
		t.closeLine()
	} else if h.tooLong() {
		o.flags |= lineContinued
		t.closeLine()
	}
	return true
}

// textRun returns the attributes and the number of columns of run i.
func (r *row) textRun(i int) (attr cell, n int) {
	at := len(r.cells) - 1 - i
	end := cell(r.used)
	if i+1 < int(r.runs) {
		end = r.cells[at-1] & cellGlyph
	}
	return r.cells[at] & cellAttr, int(end - r.cells[at]&cellGlyph)
}

// textRoom is the most a line takes in addition to its text, and the word at
// its end.
const textRoom = 2 + 1 + maxRuns*(2+3) + 32

// textLine writes a row that is a whole line, in the form of appendRecord.
func (t *Terminal) textLine(h *history, r *row) {
	n, runs := int(r.used), int(r.runs)
	if runs > 0 && r.cells[len(r.cells)-runs]&cellAttr == 0 {
		runs--
	}
	p := h.writing()
	at := len(p.lines)
	p.refs = append(p.refs, makeRef(at, n, t.newLine(r)))
	if cap(p.lines)-at < n+textRoom {
		p.lines = slices.Grow(p.lines, n+textRoom)
	}
	b := p.lines[at:cap(p.lines)]
	size := 2
	if n < 0x80 {
		b[0], b[1] = byte(n), byte(runs)
	} else {
		b[0], b[1], b[2] = byte(n)|0x80, byte(n>>7), byte(runs)
		size = 3
	}
	r.copyText(b[size:])
	size += n
	for i := range runs {
		attr, k := r.textRun(i)
		rendition := 0
		if attr != 0 {
			rendition = t.renditionFor(h, attr)
		}
		size += binary.PutUvarint(b[size:], uint64(k))
		size += binary.PutUvarint(b[size:], uint64(rendition))
	}
	p.lines = p.lines[:at+size]
	t.lineAdded(p, 1)
}

// copyText writes the text of a row kept as text into dst, which has four spare
// words. Skipped columns become spaces.
func (r *row) copyText(dst []byte) {
	n := r.words()
	words := r.cells[:min((n+3)&^3, len(r.cells))]
	for ; len(words) >= 4; words, dst = words[4:], dst[32:] {
		_ = dst[31]
		binary.LittleEndian.PutUint64(dst, shownWord(words[0]))
		binary.LittleEndian.PutUint64(dst[8:], shownWord(words[1]))
		binary.LittleEndian.PutUint64(dst[16:], shownWord(words[2]))
		binary.LittleEndian.PutUint64(dst[24:], shownWord(words[3]))
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(dst[i*8:], shownWord(w))
	}
}

// shownWord is eight bytes of text with each 0 replaced by a space.
func shownWord(w cell) uint64 {
	v := uint64(w)
	return v | (^(v+0x7f*eachOne)&eachHigh)>>2
}

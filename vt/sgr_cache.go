package vt

import (
	"encoding/binary"
	"math/bits"
)

// sgrCache remembers the result of short SGR sequences per style: programs
// write a few different ones over and over. Two-way associative.
type sgrCache [64]sgrEntry

// sgrEntry is a sequence, the number of the style before it, and of the style
// after it.
type sgrEntry struct {
	sgrText
	before, after uint16
}

// sgrText is the up to 16 bytes after CSI, final byte included, padded with 0.
type sgrText struct{ lo, hi uint64 }

// readSGR reads p up to the first byte that may be final, and returns the
// number of bytes. The sequence need not be SGR, and may be longer.
func readSGR(p *[16]byte) (s sgrText, n int) {
	s.lo, s.hi = binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
	m, more := notParameters(s.lo), notParameters(s.hi)
	long := (m|-m)>>63 - 1 // all ones if the first word has no such byte
	s.lo &= upTo(m)
	s.hi &= upTo(more) & long
	return s, (bits.TrailingZeros64(m)+bits.TrailingZeros64(more)&int(long))/8 + 1
}

// notParameters has bit 6 of every byte of w from 0x40 up; the others are parameters and
// what precedes them.
func notParameters(w uint64) uint64 { return (w | w>>1) & (0x40 * eachOne) }

// upTo has all bits of the bytes up to the first that m marks in bit 6; all if there is none.
func upTo(m uint64) uint64 {
	low := m ^ (m - 1)
	return low | low<<1
}

// places returns the two entries that may hold a sequence.
func (c *sgrCache) places(s sgrText, before uint16) (first, second *sgrEntry) {
	h := (s.lo ^ s.hi ^ uint64(before)<<48) * 0x9e3779b97f4a7c15 >> 58
	return &c[h&63], &c[(h^1)&63]
}

// sgrAgain carries out the SGR sequence at the start of p (after CSI) if it is
// cached, and returns how many bytes it consumed, or 0.
func (t *Terminal) sgrAgain(p []byte) int {
	c := t.styles.sgr
	if c == nil || t.pen.stale || len(p) < 16 {
		return 0
	}
	s, n := readSGR((*[16]byte)(p))
	before := t.pen.attr.style()
	e, second := c.places(s, before)
	if e.sgrText != s || e.before != before {
		if e = second; e.sgrText != s || e.before != before {
			return 0
		}
	}
	t.pen.style = t.styles.list[e.after]
	t.pen.attr = t.pen.attr&^cellStyle | cell(e.after)<<cellStyleShift
	t.pen.blankOK = false
	return n
}

// sgrLearn carries out the control sequence at the start of p (after CSI) the
// general way, caches its result, and returns how many bytes it consumed.
func (t *Terminal) sgrLearn(p []byte) int {
	if len(p) < 16 {
		return t.csiBytes(p)
	}
	s, n := readSGR((*[16]byte)(p))
	if n > 16 || p[n-1] != 'm' || !parametersOnly(p[:n-1]) {
		return t.csiBytes(p)
	}
	before := t.penAttr().style()
	known := before != 0 || t.pen.style == style{} // otherwise it has no number
	n = t.csiBytes(p)
	after := t.penAttr().style()
	if known && len(t.styles.list) > 0 && t.styles.get(after) == t.pen.style {
		if t.styles.sgr == nil {
			t.styles.sgr = new(sgrCache)
		}
		first, second := t.styles.sgr.places(s, before)
		*second = *first
		*first = sgrEntry{s, before, after}
	}
	return n
}

// parametersOnly reports whether p is only digits and separators.
func parametersOnly(p []byte) bool {
	for _, c := range p {
		if c < '0' || c > ';' {
			return false
		}
	}
	return true
}

package vt

import (
	"encoding/binary"
	"math/bits"
)

// sgrCache remembers what short SGR sequences made of a style: a program writes
// few different ones, over and over. A sequence has its place and the one beside.
type sgrCache [64]sgrEntry

// sgrEntry is a sequence, the number of the style that was in force, and of the
// one that the sequence made of it.
type sgrEntry struct {
	sgrText
	before, after uint16
}

// sgrText is what stands after CSI up to the final byte and with it, of at most
// 16 bytes. Those after it are 0.
type sgrText struct{ lo, hi uint64 }

// readSGR reads p up to the first byte that may be a final one, and returns
// the number of bytes. It may be no SGR, or longer.
func readSGR(p *[16]byte) (s sgrText, n int) {
	const upper = 0xc0 * eachOne // parameters and what comes before them have none of these
	s.lo, s.hi = binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
	m, more := s.lo&upper, s.hi&upper
	long := (m|-m)>>63 - 1 // all bits, when the first word has no such byte
	s.lo &= m ^ (m - 1)
	s.hi &= (more ^ (more - 1)) & long
	return s, (bits.TrailingZeros64(m)+bits.TrailingZeros64(more)&int(long))/8 + 1
}

// places are where the cache keeps a sequence.
func (c *sgrCache) places(s sgrText, before uint16) (first, second *sgrEntry) {
	h := (s.lo ^ s.hi ^ uint64(before)<<48) * 0x9e3779b97f4a7c15 >> 58
	return &c[h&63], &c[(h^1)&63]
}

// sgrAgain carries out the SGR sequence that begins p after CSI, when the cache
// knows it, and returns how many bytes it took: 0 when it did nothing.
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

// sgrLearn carries out the control sequence that begins p after CSI by the
// ordinary way, keeps what came of it, and returns how many bytes it took.
func (t *Terminal) sgrLearn(p []byte) int {
	if len(p) < 16 {
		return t.csiBytes(p)
	}
	s, n := readSGR((*[16]byte)(p))
	if n > 16 || p[n-1] != 'm' || !parametersOnly(p[:n-1]) {
		return t.csiBytes(p)
	}
	before := t.penAttr().style()
	known := before != 0 || t.pen.style == style{} // else no number was left for it
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

// parametersOnly reports whether there is nothing but digits and separators.
func parametersOnly(p []byte) bool {
	for _, c := range p {
		if c < '0' || c > ';' {
			return false
		}
	}
	return true
}

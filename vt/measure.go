package vt

import "gascity.dev/gc/vt/internal/char"

// Character returns the length in bytes of the first character of text, which is not
// empty, and how many columns it takes with WidthGrapheme: 0 if it begins with a code
// point that has none of its own, such as a control or a mark without a base.
func Character(text []byte) (n, cols int) {
	if text[0] < 0x20 || text[0] == 0x7f {
		return 1, 0
	}
	n, cols = nextCluster(text, true)
	r, _ := decode(text)
	if p := char.Of(r); p.Class() == char.Control || p.Class().IsMark() || p.Width() == 0 {
		cols = 0
	}
	return n, cols
}

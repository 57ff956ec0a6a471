package vt

const runeError = '\uFFFD'

// decode reads one character from p. Invalid input is U+FFFD for each maximal
// subpart (Unicode 3.9, table 3-8). n is 0 if p ends within a character that is
// valid so far.
func decode(p []byte) (r rune, n int) {
	c := p[0]
	lo, hi := byte(0x80), byte(0xbf)
	var need int
	switch {
	case c < 0x80:
		return rune(c), 1
	case c < 0xc2 || c > 0xf4:
		return runeError, 1
	case c < 0xe0:
		need, r = 2, rune(c&0x1f)
	case c < 0xf0:
		need, r = 3, rune(c&0x0f)
		if c == 0xe0 {
			lo = 0xa0
		} else if c == 0xed {
			hi = 0x9f
		}
	default:
		need, r = 4, rune(c&0x07)
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	}
	for n = 1; n < need; n++ {
		if n == len(p) {
			return 0, 0
		}
		if p[n] < lo || p[n] > hi {
			return runeError, n
		}
		r = r<<6 | rune(p[n]&0x3f)
		lo, hi = 0x80, 0xbf
	}
	return r, need
}

// resume continues a character begun in an earlier write.
func (t *Terminal) resume(p []byte, i int) int {
	ps := &t.parser
	for i < len(p) {
		n := int(ps.utf8n)
		ps.utf8[n] = p[i]
		r, used := decode(ps.utf8[:n+1])
		if used == 0 {
			ps.utf8n++
			i++
			continue
		}
		if used == n+1 {
			i++ // the byte belongs to the character
		}
		ps.utf8n = 0
		t.printDecoded(r)
		return i
	}
	return i
}

// printUTF8 prints from p[i], which is not ASCII, to the next byte that is.
func (t *Terminal) printUTF8(p []byte, i int) int {
	ps := &t.parser
	if t.eightBit() {
		return t.print8(p, i)
	}
	for i < len(p) && p[i] >= 0x80 && ps.state == stGround {
		if n := t.printRun(p[i:]); n > 0 {
			i += n
			continue
		}
		r, n := decode(p[i:])
		if n == 0 {
			ps.cont, ps.start = false, i
			ps.utf8n = uint8(copy(ps.utf8[:], p[i:]))
			return len(p)
		}
		if r < 0xa0 {
			ps.cont, ps.start = false, i
		}
		i += n
		t.printDecoded(r)
	}
	return i
}

// printDecoded prints a character, or executes it if it is a C1 control.
func (t *Terminal) printDecoded(r rune) {
	if r >= 0x80 && r < 0xa0 {
		t.control1(byte(r))
		return
	}
	t.printRune(r)
}

// EightBit reports whether output may contain bytes that mean something else to
// a terminal in UTF-8.
func (t *Terminal) EightBit() bool { return t.eightBit() }

// eightBit reports whether bytes 0x80–0x9F are C1 controls: the program
// requested 8-bit controls or left UTF-8.
func (t *Terminal) eightBit() bool {
	return t.extra != nil && (t.extra.latin || t.extra.protect8)
}

// print8 handles one byte above ASCII while 8-bit controls are in force.
func (t *Terminal) print8(p []byte, i int) int {
	c := p[i]
	if c < 0xa0 {
		t.parser.cont, t.parser.start = false, i
		t.control1(c)
		return i + 1
	}
	if t.extra.latin {
		t.printRune(t.chars.right(c))
		return i + 1
	}
	r, n := decode(p[i:])
	if n == 0 {
		t.parser.cont, t.parser.start = false, i
		t.parser.utf8n = uint8(copy(t.parser.utf8[:], p[i:]))
		return len(p)
	}
	t.printDecoded(r)
	return i + n
}

// firstRune is the first character of text, which is valid UTF-8.
func firstRune(text []byte) rune {
	r, _ := decode(text)
	return r
}

package vt

import "bytes"

// Limits of control strings, in bytes. Longer ones are read to their end and
// ignored.
const (
	maxOSC  = 1 << 20  // the clipboard
	maxText = 16 << 10 // any other OSC
	maxDCS  = 64 << 10
)

// str is a control string being read: OSC, DCS, APC, PM, SOS (ECMA-48 5.6).
type str struct {
	kind    byte // the final byte of its introducer
	tooLong bool // longer than its limit
	bel     bool // ended by BEL
	buf     []byte
}

// beginString enters a control string. Unused ones are not kept: APC (kitty
// graphics), PM, SOS, and the title of screen(1).
func (t *Terminal) beginString(kind byte) {
	ps := &t.parser
	ps.state = stString
	ps.prevC2 = false
	ps.str.kind, ps.str.tooLong, ps.str.bel = kind, false, false
	ps.str.buf = ps.str.buf[:0]
}

// limit is the number of bytes of a string that are kept.
func (s *str) limit() int {
	switch s.kind {
	case ']':
		return maxOSC
	case 'P':
		return maxDCS
	}
	return 0
}

func (s *str) add(p []byte) {
	n := s.limit() - len(s.buf)
	if len(p) > n {
		s.tooLong = true
		p = p[:max(n, 0)]
	}
	s.buf = append(s.buf, p...)
}

// stringBytes consumes bytes of a control string and returns how many.
func (t *Terminal) stringBytes(p []byte) int {
	ps := &t.parser
	if ps.state == stStringE {
		return t.stringEscape(p[0])
	}
	n := t.stringEnd(p)
	ps.str.add(p[:n])
	if n > 0 {
		ps.prevC2 = p[n-1] == 0xc2
	}
	if n == len(p) {
		return n
	}
	switch c := p[n]; {
	case c == 0x1b:
		ps.state = stStringE
	case c == 0x18 || c == 0x1a: // CAN, SUB: the string is void
		t.endString(false)
	case c == 0x07 && ps.str.kind == ']': // BEL ends OSC (xterm ctlseqs)
		ps.str.bel = true
		t.endString(true)
	case c == 0x9c && t.eightBit():
		t.endString(true)
	case c == 0x9c && ps.prevC2: // ST in UTF-8; its first byte was kept as text
		if !ps.str.tooLong && len(ps.str.buf) > 0 {
			ps.str.buf = ps.str.buf[:len(ps.str.buf)-1]
		}
		t.endString(true)
	default: // other control characters are part of the string
		ps.str.add(p[n : n+1])
		ps.prevC2 = false
	}
	return n + 1
}

// stringEnd returns the index of the first byte that may end a string.
func (t *Terminal) stringEnd(p []byte) int {
	for i, c := range p {
		if c < 0x20 || c == 0x9c {
			return i
		}
	}
	return len(p)
}

// stringEscape handles the byte after ESC within a string: ST ends it, anything
// else begins a new sequence, and the string is void. Within tmux's passthrough
// a doubled ESC is one of the payload.
func (t *Terminal) stringEscape(c byte) int {
	ps := &t.parser
	switch {
	case c == '\\':
		t.endString(true)
		return 1
	case c == 0x1b && ps.str.kind == 'P' && bytes.HasPrefix(ps.str.buf, tmuxPrefix):
		ps.str.add([]byte{c})
		ps.state = stString
		return 1
	}
	t.endString(false)
	t.beginEscape()
	return 0
}

// wanted reports whether a string cut at its limit would have had an effect.
// Images have none here; only attached terminals show them.
func (s *str) wanted() bool {
	starts := func(p string) bool { return bytes.HasPrefix(s.buf, []byte(p)) }
	switch s.kind {
	case ']':
		return !starts("1337;")
	case 'P':
		return starts("tmux;") || starts("+q") || starts("$q")
	}
	return false
}

var tmuxPrefix = []byte("tmux;")

// endString leaves the string, and carries it out if it is complete.
func (t *Terminal) endString(whole bool) {
	ps := &t.parser
	ps.state = stGround
	ps.prevC2 = false
	t.last.join = false
	s := &ps.str
	switch {
	case !whole:
	case s.tooLong:
		if s.wanted() {
			t.lost.Strings++
		}
	case s.kind == ']':
		t.osc(s.buf)
	case s.kind == 'P':
		t.dcs(s.buf)
	}
	if cap(s.buf) > 4096 {
		s.buf = nil
	}
}

package vt

import (
	"bytes"

	"gascity.dev/gc/vt/internal/picture"
)

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

// beginString enters a control string. Unused ones are not kept: PM, SOS, and the title
// of screen(1).
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
	case '_':
		return picture.Head // the sizes of an image (kitty)
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

// wanted reports whether a string cut at its limit would have had another effect. Of an
// image the beginning is enough.
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
		t.image(s)
	case t.image(s):
	case s.kind == ']':
		t.osc(s.buf)
	case s.kind == 'P':
		t.dcs(s.buf)
	case s.kind == '_':
		t.replyKitty(s.buf)
	}
	if cap(s.buf) > 4096 {
		s.buf = nil
	}
}

// image puts a placeholder where a string shows an image, and moves the cursor as the
// terminals do that can show it: only attached terminals get the image itself. It reports
// whether the string shows one.
func (t *Terminal) image(s *str) bool {
	p, ok := picture.Of(s.kind, s.buf)
	if ok {
		t.placeholder(p)
	}
	return ok
}

// placeholderText names an image in the text of a screen.
const placeholderText = "[image]"

// placeholder blanks the cells of an image, names it in its first row, and moves the
// cursor to its last row; an image that leaves the cursor is cut off by the screen instead.
func (t *Terminal) placeholder(p picture.Picture) {
	t.pending = false
	x, y := t.x, t.y
	cols, rows := min(p.Cols, t.lineEnd()-x), min(p.Rows, t.rows)
	if p.Stay {
		rows = min(rows, t.rows-y)
	}
	modes := t.modes & (modeInsert | modeAutowrap)
	t.modes &^= modes
	t.eraseAll(y, x, x+cols, 0)
	for _, c := range []byte(placeholderText[:min(cols, len(placeholderText))]) {
		t.put(cell(c), 1)
	}
	t.modes |= modes
	t.moveTo(x, y)
	for row := 1; row < rows; row++ {
		if p.Stay {
			t.eraseAll(y+row, x, x+cols, 0)
			continue
		}
		t.lineFeed()
		t.eraseAll(t.y, x, x+cols, 0)
	}
	t.last = lastText{} // nothing that REP repeats or a mark joins
	t.changed = true
	if !p.Stay && !p.Left {
		t.moveTo(min(x+cols, t.lineEnd()-1), t.y)
	}
}

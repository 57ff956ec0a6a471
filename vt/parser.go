package vt

// state is the parser's state (ECMA-48 5.3–5.6, DEC STD 070 3.5).
type state uint8

const (
	stGround  state = iota
	stEscape        // ESC and intermediates
	stCSI           // CSI and parameters
	stCSITail       // CSI, its intermediates
	stCSISkip       // malformed CSI, to its end
	stString        // OSC, DCS, APC, PM, SOS: to ST
	stStringE       // ESC within a string
)

// maxPending bounds the bytes kept of an incomplete sequence: a string cut
// there is over its own limit too.
const maxPending = maxOSC + 16

// parser is the state kept between writes.
type parser struct {
	state  state
	utf8n  uint8   // length of utf8
	utf8   [4]byte // an incomplete character
	inter  uint16  // intermediates of an ESC or CSI sequence, see interAdd
	cont   bool    // the sequence began in an earlier write
	prevC2 bool    // 0xC2 was the last byte of a string: 0x9C makes it ST
	start  int     // where the sequence begins in this write
	src    []byte  // the bytes being written
	pos    int     // where the current control sequence began in src, or 0
	csi    csi
	str    str
	raw    []byte // the bytes of the incomplete sequence
}

func (ps *parser) idle() bool { return ps.state == stGround && ps.utf8n == 0 }

// feed is the parser's loop: each state consumes what it can of p.
func (t *Terminal) feed(p []byte) {
	if t.packed != nil {
		t.unpack()
	}
	ps := &t.parser
	ps.cont, ps.start, ps.src, ps.pos = !ps.idle(), 0, p, 0
	for i := 0; i < len(p); {
		switch ps.state {
		case stGround:
			i = t.ground(p, i)
			continue
		case stEscape:
			n := t.escape(p[i])
			if i += n; n > 0 {
				ps.restart(p, i)
			}
		case stCSI, stCSITail, stCSISkip:
			i += t.csiBytes(p[i:])
			ps.restart(p, i)
		default:
			n := t.stringBytes(p[i:])
			if i += n; n == 0 { // a sequence other than ST: the string is void
				ps.escaped(p, i)
			}
		}
	}
	ps.src = nil
	if !ps.idle() || len(ps.raw) > 0 {
		ps.keep(p)
	}
}

// restart notes that the byte before i, read within a sequence, is an ESC: the
// sequence before it is abandoned.
func (ps *parser) restart(p []byte, i int) {
	if ps.state == stEscape && i > 0 && p[i-1] == 0x1b {
		ps.cont, ps.start = false, i-1
	}
}

// escaped notes that the byte before i, perhaps from an earlier write, is the
// ESC of a sequence that began within a string.
func (ps *parser) escaped(p []byte, i int) {
	if i == 0 {
		ps.raw = append(ps.raw[:0], 0x1b)
		return
	}
	ps.restart(p, i)
}

// keep saves the bytes of an incomplete sequence.
func (ps *parser) keep(p []byte) {
	if !ps.cont || ps.idle() {
		ps.raw = ps.raw[:0]
		p = p[min(ps.start, len(p)):]
	}
	if ps.idle() {
		if cap(ps.raw) > 4096 {
			ps.raw = nil
		}
		return
	}
	old := len(ps.raw)
	ps.raw = append(ps.raw, p[:min(len(p), maxPending-old)]...)
	switch {
	case ps.utf8n > 0:
	case ps.state < stString:
		ps.raw = ps.raw[:old+sequenceOnly(ps.raw[old:])]
	case old <= 1 && len(ps.raw) > 0 && ps.raw[0] == 0x1b: // bytes between ESC and the introducer of the string
		n := 1
		for n < len(ps.raw) && (ps.raw[n] < 0x20 || ps.raw[n] == 0x7f) {
			n++
		}
		ps.raw = append(ps.raw[:1], ps.raw[n:]...)
	}
}

// sequenceOnly removes the control characters already executed, and DEL, from
// part of a control sequence, and returns the remaining length.
func sequenceOnly(part []byte) int {
	out := part[:0]
	for _, c := range part {
		if c >= 0x20 && c != 0x7f || c == 0x1b {
			out = append(out, c)
		}
	}
	return len(out)
}

// Pending returns the bytes of an incomplete escape sequence or character; of a
// string longer than 1 MiB only the beginning.
func (t *Terminal) Pending() []byte {
	return append([]byte(nil), t.parser.pending()...)
}

func (ps *parser) pending() []byte {
	if ps.idle() {
		return nil
	}
	return ps.raw
}

// ground consumes text and control characters, and whole common sequences.
func (t *Terminal) ground(p []byte, i int) int {
	ps := &t.parser
	if ps.utf8n > 0 {
		i = t.resume(p, i)
	}
	for i < len(p) && ps.state == stGround {
		c := p[i]
		switch {
		case c >= 0x20 && c < 0x7f:
			i += t.printASCII(p[i:])
		case c >= 0x80:
			i = t.printUTF8(p, i)
		case c == 0x1b:
			if i+1 < len(p) && p[i+1] == '[' {
				if n := t.sgrAgain(p[i+2:]); n > 0 {
					i += 2 + n
					continue
				}
				ps.cont, ps.start, ps.pos = false, i, i
				t.beginCSI()
				i += 2
				i += t.sgrLearn(p[i:])
				ps.restart(p, i)
				continue
			}
			ps.cont, ps.start = false, i
			i++
			t.beginEscape()
		default:
			t.control(c)
			i++
		}
	}
	return i
}

// beginEscape abandons the current sequence and enters a new one.
func (t *Terminal) beginEscape() {
	t.parser.state = stEscape
	t.parser.inter = 0
}

// control executes a C0 control character (ECMA-48 5.2). Those without a
// function, and DEL, do nothing.
func (t *Terminal) control(c byte) {
	switch c {
	case 0x0a, 0x0b, 0x0c: // LF, VT, FF — DEC STD 070: all three feed a line
		t.lineFeed()
		if t.modes&modeLNM != 0 {
			t.carriageReturn()
		}
	case 0x0d: // CR — ECMA-48 8.3.15
		t.carriageReturn()
	case 0x08: // BS — ECMA-48 8.3.5
		t.back(1)
	case 0x09: // HT — ECMA-48 8.3.60
		t.tab(1)
	case 0x07: // BEL — ECMA-48 8.3.3
		t.event(Event{Kind: EventBell})
	case 0x0e: // SO — LS1, ECMA-35 7.3
		t.shift(1)
	case 0x0f: // SI — LS0
		t.shift(0)
	case 0x1b:
		t.beginEscape()
	case 0x18, 0x1a: // CAN, SUB: cancel the sequence they occur in
		t.parser.state = stGround
	}
	t.last.join = false
}

// control1 executes a C1 control character in its 8-bit form (ECMA-48 5.3 b).
func (t *Terminal) control1(c byte) {
	t.last.join = t.last.join && c == 0x9b
	t.escapeFinal(c - 0x40)
}

// escape handles the byte after ESC (ECMA-35 13, ECMA-48 5.3) and returns how
// many bytes it consumed: a byte above ASCII ends the sequence and is text.
func (t *Terminal) escape(c byte) int {
	ps := &t.parser
	switch {
	case c < 0x20:
		t.control(c)
	case c < 0x30:
		ps.inter = interAdd(ps.inter, c)
	case c < 0x7f:
		ps.state = stGround
		t.last.join = t.last.join && c == '[' && ps.inter == 0 // SGR does not end joining
		if ps.inter == 0 {
			t.escapeFinal(c)
		} else {
			t.escapeInter(ps.inter, c)
		}
	case c == 0x7f:
	default:
		ps.state, ps.cont = stGround, false
		return 0
	}
	return 1
}

// interAdd collects up to two intermediates, the first in the lower byte. More
// make a key that matches nothing.
func interAdd(key uint16, c byte) uint16 {
	switch {
	case key == 0:
		return uint16(c)
	case key < 0x100:
		return key | uint16(c)<<8
	}
	return 0xffff
}

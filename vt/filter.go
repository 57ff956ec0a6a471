package vt

import (
	"bytes"
	"strconv"
)

// HostFilter removes from raw output what must not reach a person's terminal:
// sequences that would make it answer, because the emulator has answered
// already, those not in the tables of pass.go, and images. The rest passes unchanged,
// however it is split; a sequence is held back until it is complete enough to
// judge. The zero value is ready.
type HostFilter struct {
	// Images are those that the terminal shows. Others are removed, which makes the screen
	// stale.
	Images Images

	held  []byte // the sequence read so far
	state filterState
	c2    bool // 0xC2 was the last byte of text or of a string
	void  bool // the held sequence cannot pass
	image bool // it is long and shows an image
	size  int  // its bytes, if it is long
	stale bool // see Stale
}

type filterState uint8

const (
	ftText    filterState = iota
	ftEscape              // held is ESC and intermediates
	ftCSI                 // held is a control sequence
	ftString              // held is the beginning of a control string
	ftStringE             // and an ESC came
	ftLong                // a control string too long to hold; it passes, or is void
	ftLongE
)

// maxHeld is the length at which a string is judged by its beginning, in bytes:
// only images and the clipboard are longer.
const maxHeld = maxText + 64

// Stale reports, once, that a sequence was removed which changes the screen:
// the host terminal must be repainted.
func (f *HostFilter) Stale() bool {
	stale := f.stale
	f.stale = false
	return stale
}

// Idle reports whether the filter is between sequences.
func (f *HostFilter) Idle() bool { return f.state == ftText && !f.c2 }

// Filter appends the part of src that may pass to dst.
func (f *HostFilter) Filter(dst, src []byte) []byte {
	for len(src) > 0 {
		if f.state != ftText {
			dst = f.sequence(dst, src[0])
			src = src[1:]
			continue
		}
		if f.c2 {
			f.c2 = false
			if c := src[0]; c >= 0x80 && c < 0xa0 { // a C1 control is ESC and a letter
				dst = f.begin(dst, c-0x40)
				src = src[1:]
				continue
			}
			dst = append(dst, 0xc2)
		}
		n := textRun(src)
		dst = append(dst, src[:n]...)
		if n == len(src) {
			return dst
		}
		switch src[n] { // other control characters do nothing, or prompt an answer (ENQ)
		case 0x1b:
			f.held, f.state = append(f.held[:0], 0x1b), ftEscape
		case 0xc2:
			f.c2 = true
		}
		src = src[n+1:]
	}
	return dst
}

func (f *HostFilter) begin(dst []byte, c byte) []byte {
	f.held, f.state = append(f.held[:0], 0x1b), ftEscape
	return f.sequence(dst, c)
}

// textRun returns the length of the leading bytes that always pass.
func textRun(p []byte) int {
	for i, c := range p {
		if c < 0x20 && !passesControl(c) || c == 0xc2 || c == 0x7f {
			return i
		}
	}
	return len(p)
}

// passesControl reports whether a control character moves the cursor, rings or
// shifts. CAN would end a sequence and begins a file transfer (ZMODEM).
func passesControl(c byte) bool { return c >= 0x07 && c <= 0x0f }

// drop discards the held sequence.
func (f *HostFilter) drop() {
	f.held, f.state, f.c2, f.void, f.image, f.size = f.held[:0], ftText, false, false, false, 0
	if cap(f.held) > 4096 {
		f.held = nil
	}
}

// sequence handles a byte within a sequence.
func (f *HostFilter) sequence(dst []byte, c byte) []byte {
	switch {
	case f.state >= ftLong:
		return f.long(dst, c)
	case f.state >= ftString:
		return f.string(dst, c)
	case c == 0x1b: // the previous sequence is cut off and void
		f.drop()
		f.held, f.state = append(f.held, c), ftEscape
	case c == 0x18 || c == 0x1a:
		f.drop()
	case c < 0x20: // executed by itself, before the sequence
		if passesControl(c) {
			dst = append(dst, c)
		}
	case c == 0x7f:
	case c >= 0x80: // ends the sequence and is text
		f.drop()
		dst = f.Filter(dst, []byte{c})
	case f.state == ftEscape:
		dst = f.escape(dst, c)
	default:
		dst = f.csi(dst, c)
	}
	return dst
}

// escape handles a byte after ESC.
func (f *HostFilter) escape(dst []byte, c byte) []byte {
	f.held = append(f.held, c)
	switch {
	case c < 0x30:
		if len(f.held) > 4 {
			f.held = f.held[:4]
		}
		return dst
	case c == '[' && len(f.held) == 2:
		f.state = ftCSI
		return dst
	case len(f.held) == 2 && bytes.IndexByte([]byte("]P_^Xk"), c) >= 0:
		f.state = ftString
		return dst
	}
	seq := f.held[1:]
	if passesEscape(seq) {
		dst = append(dst, f.held...)
	} else {
		f.stale = f.stale || isStaleEscape(string(seq))
	}
	f.drop()
	return dst
}

func passesEscape(seq []byte) bool {
	if len(seq) == 2 && seq[0] >= '(' && seq[0] <= '/' || len(seq) == 3 && seq[0] >= '(' && seq[0] <= '+' {
		return true // character sets, reset at detach
	}
	return ruleFor(passEscapes[:], string(seq)) != nil
}

// isStaleEscape reports whether a sequence that does not pass changes the
// emulator's screen: RIS would drop the person's history and colours, the
// others the host terminal's character set and answers.
func isStaleEscape(seq string) bool {
	switch seq {
	case "c", "%@", "%G", " F", " G":
		return true
	}
	return false
}

func ruleFor(rules []passRule, seq string) *passRule {
	for i := range rules {
		if rules[i].seq == seq {
			return &rules[i]
		}
	}
	return nil
}

// csi handles a byte of a control sequence.
func (f *HostFilter) csi(dst []byte, c byte) []byte {
	if len(f.held) < maxHeld {
		f.held = append(f.held, c)
	} else {
		f.void = true
	}
	if c < 0x40 {
		return dst
	}
	if s, ok := splitSequence(f.held[2:]); ok && !f.void {
		dst = f.control(dst, s)
	}
	f.drop()
	return dst
}

// control passes or removes a complete control sequence.
func (f *HostFilter) control(dst []byte, s sequence) []byte {
	switch s.name {
	case "h", "l", "?h", "?l", "?s", "?r":
		return f.modes(dst, s)
	case "\"p", // DECSCL resets softly
		"j", "k", "?W": // HPB, VPB and DECST8C, which few terminals know
		f.stale = true
		return dst
	case "t": // the top of the person's stack of titles is the title before attach
		f.stale = f.stale || only(23)(s.args())
		return dst
	}
	if r := ruleFor(passCSI[:], s.name); r != nil && (r.args == nil || r.args(s.args())) {
		dst = append(dst, f.held...)
	}
	return dst
}

// modes passes the modes that may be set.
func (f *HostFilter) modes(dst []byte, s sequence) []byte {
	dec := s.name[0] == '?'
	open := false
	for _, n := range s.args() {
		if dec && n == 3 { // DECCOLM clears the screen
			f.stale = true
		}
		if !passesMode(n, dec) {
			continue
		}
		if open {
			dst = append(dst, ';')
		} else if dst, open = append(dst, "\x1b["...), true; dec {
			dst = append(dst, '?')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	if open {
		dst = append(dst, s.name[len(s.name)-1])
	}
	return dst
}

func passesMode(n int, dec bool) bool {
	for i := range passModes {
		if passModes[i].n == n && passModes[i].dec == dec {
			return true
		}
	}
	return false
}

// sequence is a control sequence, or the head of a device control string.
type sequence struct {
	name   string // prefix, intermediates, final byte
	params []byte
}

// splitSequence splits b, which ends with a final byte; false if the emulator
// would not carry it out.
func splitSequence(b []byte) (s sequence, ok bool) {
	var name [4]byte
	n, i := 0, 0
	if len(b) > 0 && b[0] >= '<' && b[0] <= '?' {
		name[0], n, i = b[0], 1, 1
	}
	from := i
	for i < len(b) && b[i] >= '0' && b[i] <= ';' {
		i++
	}
	s.params = b[from:i]
	for ; i < len(b); i++ {
		last := i == len(b)-1
		if n == len(name) || last != (b[i] >= 0x40) || !last && b[i] >= 0x30 {
			return s, false
		}
		name[n] = b[i]
		n++
	}
	s.name = string(name[:n])
	return s, n > 0 && name[n-1] >= 0x40
}

// args returns the parameters; one with sub-parameters is -1, an omitted one 0.
func (s sequence) args() []int {
	if len(s.params) == 0 {
		return nil
	}
	var out []int
	for part := range bytes.SplitSeq(s.params, []byte(";")) {
		n, err := strconv.Atoi(string(part))
		if err != nil && len(part) > 0 {
			n = -1
		}
		out = append(out, n)
	}
	return out
}

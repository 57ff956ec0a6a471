package vt

import "bytes"

// QueryFilter takes out of raw output what would make an attached terminal
// answer: the emulator has answered already. The rest passes unchanged, split
// anywhere; a sequence is held back until it is clear what it is. The zero
// value is ready.
type QueryFilter struct {
	held  []byte // the sequence that has begun
	state filterState
	c2    bool // 0xC2 was the last byte
	last  byte // of a control string that passes
}

type filterState uint8

const (
	ftText   filterState = iota
	ftEscape             // held is ESC and intermediates
	ftCSI                // held is a control sequence
	ftString             // held is the beginning of a control string
	ftStringE
	ftPass // a control string that passes
	ftPassE
)

// maxHeld is when a control string is too long to be a query, in bytes. Asking
// is short, but XTGETTCAP and OSC 4 can ask many things at once.
const maxHeld = 4096

// Filter appends what of src may pass to dst.
func (f *QueryFilter) Filter(dst, src []byte) []byte {
	for len(src) > 0 {
		if f.c2 {
			dst = f.afterC2(dst, &src)
			continue
		}
		if f.state == ftText {
			n := textRun(src)
			dst = append(dst, src[:n]...)
			if n == len(src) {
				return dst
			}
			switch src[n] { // ENQ (0x05) is gone
			case 0x1b:
				f.held, f.state = append(f.held[:0], 0x1b), ftEscape
			case 0xc2:
				f.c2 = true
			}
			src = src[n+1:]
			continue
		}
		dst = f.sequence(dst, src[0])
		src = src[1:]
	}
	return dst
}

// textRun returns the length of what passes without a look.
func textRun(p []byte) int {
	for i, c := range p {
		if c == 0x1b || c == 0x05 || c == 0xc2 {
			return i
		}
	}
	return len(p)
}

// Flush appends what is held back: the output has ended.
func (f *QueryFilter) Flush(dst []byte) []byte {
	if f.c2 {
		dst = append(dst, 0xc2)
	}
	dst = append(dst, f.held...)
	*f = QueryFilter{}
	return dst
}

// afterC2 takes the byte after 0xC2: with it a C1 control may begin a sequence.
func (f *QueryFilter) afterC2(dst []byte, src *[]byte) []byte {
	f.c2 = false
	c := (*src)[0]
	switch c {
	case 0x9b:
		f.state = ftCSI
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		f.state = ftString
	default:
		return append(dst, 0xc2) // c is looked at again
	}
	f.held = append(f.held[:0], 0x1b, c-0x40)
	*src = (*src)[1:]
	return dst
}

// sequence takes a byte within a sequence.
func (f *QueryFilter) sequence(dst []byte, c byte) []byte {
	switch f.state {
	case ftPass, ftPassE:
		return f.pass(dst, c)
	case ftString, ftStringE:
		return f.string(dst, c)
	}
	if c == 0x1b { // the sequence before is cut off and void
		dst = f.drop(dst)
		f.held, f.state = append(f.held, c), ftEscape
		return dst
	}
	f.held = append(f.held, c)
	switch {
	case c == 0x18 || c == 0x1a:
		return f.release(dst)
	case c < 0x20:
	case f.state == ftEscape:
		return f.escape(dst, c)
	case c >= 0x40 && c < 0x7f:
		return f.csi(dst)
	case c >= 0x80 || len(f.held) > maxHeld:
		return f.release(dst)
	}
	return dst
}

// escape takes a byte after ESC.
func (f *QueryFilter) escape(dst []byte, c byte) []byte {
	switch {
	case c == '[' && len(f.held) == 2:
		f.state = ftCSI
	case len(f.held) == 2 && bytes.IndexByte([]byte("]P_^Xk"), c) >= 0:
		f.state = ftString
	case c >= 0x20 && c < 0x30:
	case c == 'Z' && len(f.held) == 2: // DECID
		return f.drop(dst)
	default:
		return f.release(dst)
	}
	return dst
}

// release lets what is held pass.
func (f *QueryFilter) release(dst []byte) []byte {
	dst = append(dst, f.held...)
	f.held, f.state = f.held[:0], ftText
	return dst
}

// drop takes out what is held, but for the control characters within, which
// act by themselves.
func (f *QueryFilter) drop(dst []byte) []byte {
	for _, c := range f.held {
		if c < 0x20 && c != 0x1b && c != 0x05 {
			dst = append(dst, c)
		}
	}
	f.held, f.state = f.held[:0], ftText
	return dst
}

// pass follows a control string that passes to its end. When another sequence
// cuts it off it is made void (CAN), so that the sequence can be looked at.
func (f *QueryFilter) pass(dst []byte, c byte) []byte {
	osc := f.held[1] == ']'
	switch {
	case f.state == ftPassE && c == '\\':
		dst = append(dst, 0x1b, c)
		f.held, f.state = f.held[:0], ftText
	case f.state == ftPassE:
		dst = append(dst, 0x18)
		f.held, f.state = append(f.held[:0], 0x1b), ftEscape
		return f.sequence(dst, c)
	case c == 0x1b:
		f.state = ftPassE
	default:
		dst = append(dst, c)
		if c == 0x18 || c == 0x1a || c == 0x07 && osc || c == 0x9c && f.last == 0xc2 {
			f.held, f.state = f.held[:0], ftText
		}
		f.last = c
	}
	return dst
}

// string takes a byte of a control string that is held.
func (f *QueryFilter) string(dst []byte, c byte) []byte {
	f.held = append(f.held, c)
	end := f.state == ftStringE && c == '\\' ||
		c == 0x07 && f.held[1] == ']' ||
		c == 0x9c && len(f.held) > 3 && f.held[len(f.held)-2] == 0xc2
	switch {
	case end:
		if f.isPassthrough() {
			return f.unwrap(dst)
		}
		if isStringQuery(f.held) {
			f.held, f.state = f.held[:0], ftText
			return dst
		}
		return f.release(dst)
	case c == 0x18 || c == 0x1a:
		return f.release(dst)
	case f.state == ftStringE && c == 0x1b && f.isPassthrough():
		f.held = f.held[:len(f.held)-1] // two ESC are one of the payload
		f.state = ftString
		return dst
	case f.state == ftStringE && c != 0x1b: // another sequence begins
		f.held, f.state = append(f.held[:0], 0x1b), ftEscape
		return f.sequence(dst, c)
	case c == 0x1b:
		f.state = ftStringE
	case len(f.held) > maxHeld && !(f.isPassthrough() && len(f.held) < maxDCS):
		dst = append(dst, f.held...)
		f.held, f.state = f.held[:2], ftPass
		return dst
	}
	if f.state == ftStringE && c != 0x1b {
		f.state = ftString
	}
	return dst
}

// isPassthrough reports whether a string for tmux to pass on is held. This is
// no tmux, and other terminals would take what is within as it stands.
func (f *QueryFilter) isPassthrough() bool {
	return f.held[1] == 'P' && bytes.HasPrefix(f.held[2:], tmuxPrefix)
}

// unwrap lets what is within a passthrough pass, without its questions.
func (f *QueryFilter) unwrap(dst []byte) []byte {
	inner := bytes.TrimSuffix(f.held[2+len(tmuxPrefix):], []byte("\x1b\\"))
	var g QueryFilter
	dst = g.Filter(dst, inner)
	f.held, f.state = f.held[:0], ftText
	return dst
}

// csi lets a complete control sequence pass, or not. Mode 2048 is taken out of
// what sets modes: the outer terminal's reports would come as if typed.
func (f *QueryFilter) csi(dst []byte) []byte {
	if isCSIQuery(plainText(string(f.held[2:]))) {
		return f.drop(dst)
	}
	if b := f.held; b[len(b)-1] == 'h' && bytes.Contains(b, []byte("2048")) {
		f.held = withoutMode(b, "2048")
		if len(f.held) == 0 {
			f.state = ftText
			return dst
		}
	}
	return f.release(dst)
}

// withoutMode takes a mode out of CSI ? … h; nothing is left when it was the
// only one.
func withoutMode(b []byte, mode string) []byte {
	if len(b) < 4 || b[2] != '?' {
		return b
	}
	var keep [][]byte
	for _, p := range bytes.Split(b[3:len(b)-1], []byte(";")) {
		if string(p) != mode {
			keep = append(keep, p)
		}
	}
	if len(keep) == 0 {
		return nil
	}
	out := append([]byte("\x1b[?"), bytes.Join(keep, []byte(";"))...)
	return append(out, 'h')
}

// isCSIQuery reports whether a control sequence, without its CSI, is answered
// by terminals.
func isCSIQuery(s string) bool {
	b := []byte(s)
	if len(b) == 0 {
		return false
	}
	final, b := b[len(b)-1], b[:len(b)-1]
	var prefix, inter byte
	if len(b) > 0 && b[0] >= '<' && b[0] <= '?' {
		prefix, b = b[0], b[1:]
	}
	if n := len(b); n > 0 && b[n-1] >= 0x20 && b[n-1] < 0x30 {
		inter, b = b[n-1], b[:n-1]
	}
	first, _, _ := bytes.Cut(b, []byte(";"))
	switch {
	case inter == '$':
		return final == 'p' || final == 'w' || final == 'u' // DECRQM, DECRQPSR, DECRQTSR
	case inter == '*':
		return final == 'y' // DECRQCRA
	case inter == '#':
		return final == '|' // XTREPORTSGR
	case inter == '&' || inter == '"':
		return final == 'u' || final == 'v' // DECRQUPSS, DECRQDE
	case inter != 0:
		return false
	case final == 'c': // DA1, DA2, DA3
		return prefix != '?'
	case final == 'n': // DSR, but not XTMODKEYS with >
		return prefix == 0 || prefix == '?'
	case final == 'q':
		return prefix == '>' // XTVERSION
	case final == 'u':
		return prefix == '?' // kitty keyboard
	case final == 'm':
		return prefix == '?' // XTQMODKEYS
	case final == 'S':
		return prefix == '?' // XTSMGRAPHICS
	case final == 'x' && prefix == 0:
		return true // DECREQTPARM
	case final == 't' && prefix == 0:
		return isWindowQuery(first)
	}
	return false
}

// isWindowQuery reports whether an XTWINOPS asks.
func isWindowQuery(first []byte) bool {
	switch string(first) {
	case "11", "13", "14", "15", "16", "18", "19", "20", "21":
		return true
	}
	return false
}

// isStringQuery reports whether a control string, with its introducer, asks.
func isStringQuery(b []byte) bool {
	kind, body := b[1], b[2:]
	switch kind {
	case ']':
		number, rest, _ := bytes.Cut(body, []byte(";"))
		switch string(number) {
		case "52":
			return bytes.Contains(rest, []byte(";?"))
		case "1337":
			return bytes.HasPrefix(rest, []byte("ReportCellSize")) || bytes.HasPrefix(rest, []byte("ReportVariable"))
		case "99":
			return bytes.Contains(rest, []byte("p=?"))
		case "7501":
			return bytes.HasPrefix(bytes.TrimSpace(rest), []byte("?"))
		case "22", "21":
			return bytes.HasPrefix(rest, []byte("?")) || bytes.Contains(rest, []byte("=?"))
		case "0", "1", "2", "7", "8", "9", "133", "633", "777":
			return false
		}
		return bytes.HasPrefix(rest, []byte("?")) || bytes.Contains(rest, []byte(";?"))
	case 'P':
		return bytes.HasPrefix(body, []byte("$q")) || bytes.HasPrefix(body, []byte("+q"))
	case '_': // kitty graphics: a=q asks
		return bytes.HasPrefix(body, []byte("G")) && bytes.Contains(headOf(body), []byte("a=q"))
	}
	return false
}

// headOf is the control data of a graphics command, before its payload.
func headOf(body []byte) []byte {
	head, _, _ := bytes.Cut(body, []byte(";"))
	return head
}

package mux

import "strings"

// inputKind says what a piece of a terminal's input is.
type inputKind int

const (
	inByte   inputKind = iota // one byte outside any sequence
	inAlt                     // ESC and one byte
	inCSI                     // CSI … final
	inSS3                     // SS3 final
	inMouse                   // CSI M and three bytes
	inString                  // OSC, DCS or APC with its terminator
	inPaste                   // bytes of a bracketed paste, its end mark included
	inBroken                  // the start of a sequence that something else cut short
)

// inputToken is one piece of input. data is valid until the next call.
type inputToken struct {
	kind inputKind
	data []byte
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"

	maxInputCSI    = 256      // bytes of a CSI sequence from a terminal
	maxInputString = 64 << 10 // bytes of a string from a terminal

	// inputPatience is how many calls of flush an unfinished sequence of three
	// bytes and more survives.
	inputPatience = 10
)

type scanState int

const (
	scanGround scanState = iota
	scanEscape
	scanCSI
	scanCSIConsole // CSI [ and one letter: function keys of the Linux console
	scanSS3
	scanMouse
	scanString
	scanStringEscape
)

// inputScanner cuts what a terminal sends into tokens, in order and without a
// gap: the data of all tokens together is the input. It may be fed in pieces
// of any size.
//
// A terminal's replies and the Alt key begin alike (ESC ] is Alt-] too). What
// follows decides: a string must go on as one of a terminal does. A sequence
// that stays unfinished is a key that was pressed alone: see flush.
type inputScanner struct {
	state scanState
	buf   []byte // the unfinished sequence
	idle  int    // calls of flush since the last byte
	paste bool   // inside a bracketed paste
	seen  int    // inside one: bytes of pasteEnd that were just seen
}

// feed takes the next bytes and calls emit for every finished token.
func (s *inputScanner) feed(p []byte, emit func(inputToken)) {
	s.idle = 0
	for len(p) > 0 {
		if s.paste {
			n := s.pasted(p)
			emit(inputToken{inPaste, p[:n]})
			p = p[n:]
			continue
		}
		s.push(p[0], emit)
		p = p[1:]
	}
}

// pasted returns how many bytes of p belong to the paste.
func (s *inputScanner) pasted(p []byte) int {
	for i, b := range p {
		switch {
		case b == pasteEnd[s.seen]:
			s.seen++
		case b == pasteEnd[0]:
			s.seen = 1
		default:
			s.seen = 0
		}
		if s.seen == len(pasteEnd) {
			s.paste, s.seen = false, 0
			return i + 1
		}
	}
	return len(p)
}

// pending reports whether a sequence is unfinished.
func (s *inputScanner) pending() bool { return len(s.buf) > 0 }

// flush tells that no byte came for a moment. ESC alone and ESC with one byte
// are keys then. A longer start has to be the rest of something that is still
// on its way, for a while: after inputPatience calls it is given up.
func (s *inputScanner) flush(emit func(inputToken)) {
	switch {
	case len(s.buf) == 0:
		return
	case len(s.buf) == 1:
		s.emit(inByte, emit)
	case len(s.buf) == 2:
		s.emit(inAlt, emit)
	default:
		if s.idle++; s.idle >= inputPatience {
			s.emit(inBroken, emit)
		}
	}
}

// emit hands out the unfinished bytes as one token.
func (s *inputScanner) emit(kind inputKind, emit func(inputToken)) {
	data := s.buf
	s.buf, s.state, s.idle = s.buf[:0], scanGround, 0
	emit(inputToken{kind, data})
}

// cut gives up the unfinished sequence and takes b anew.
func (s *inputScanner) cut(b byte, emit func(inputToken)) {
	kind := inBroken
	if len(s.buf) == 2 {
		kind = inAlt
	}
	s.emit(kind, emit)
	s.push(b, emit)
}

func (s *inputScanner) push(b byte, emit func(inputToken)) {
	switch s.state {
	case scanGround:
		s.buf = append(s.buf, b)
		if b == 0x1b {
			s.state = scanEscape
			return
		}
		s.emit(inByte, emit)
	case scanEscape:
		s.pushEscape(b, emit)
	case scanCSI:
		s.pushCSI(b, emit)
	case scanCSIConsole:
		s.finish(inCSI, b, b >= 0x40 && b <= 0x7e, emit)
	case scanSS3:
		if b >= '0' && b <= '9' && len(s.buf) < 4 {
			s.buf = append(s.buf, b)
			return
		}
		s.finish(inSS3, b, b >= 0x40 && b <= 0x7e, emit)
	case scanMouse:
		if len(s.buf) < len("\x1b[Mbx") && b != 0x1b {
			s.buf = append(s.buf, b)
			return
		}
		s.finish(inMouse, b, b != 0x1b, emit)
	case scanString, scanStringEscape:
		s.pushString(b, emit)
	}
}

// finish ends the sequence with b when b is fit for it, else cuts it.
func (s *inputScanner) finish(kind inputKind, b byte, fit bool, emit func(inputToken)) {
	if !fit {
		s.cut(b, emit)
		return
	}
	s.buf = append(s.buf, b)
	s.emit(kind, emit)
}

func (s *inputScanner) pushEscape(b byte, emit func(inputToken)) {
	if b == 0x1b { // a key of its own, and the start of something
		s.emit(inByte, emit)
		s.push(b, emit)
		return
	}
	s.buf = append(s.buf, b)
	switch b {
	case '[':
		s.state = scanCSI
	case 'O':
		s.state = scanSS3
	case ']', 'P', '_':
		s.state = scanString
	default:
		s.emit(inAlt, emit)
	}
}

func (s *inputScanner) pushCSI(b byte, emit func(inputToken)) {
	first := len(s.buf) == 2
	switch {
	case len(s.buf) >= maxInputCSI || b < 0x20 || b > 0x7e:
		s.cut(b, emit)
	case first && b == '[':
		s.buf, s.state = append(s.buf, b), scanCSIConsole
	case first && b == 'M':
		s.buf, s.state = append(s.buf, b), scanMouse
	case b < 0x40:
		s.buf = append(s.buf, b)
	default:
		s.buf = append(s.buf, b)
		s.paste = string(s.buf) == pasteStart
		s.emit(inCSI, emit)
	}
}

// stringStarts are the first bytes of a string that a terminal sends: OSC
// with a number, or l and L (titles); DCS of XTVERSION (>), DA3 (!), DECRPSS,
// XTGETTCAP and DECUDK-like reports (digits), kitty's remote control (@); APC of kitty graphics (G).
func stringStarts(kind byte) string {
	switch kind {
	case ']':
		return "0123456789lL"
	case 'P':
		return "0123456789>!$@"
	case '_':
		return "G"
	}
	return ""
}

func (s *inputScanner) pushString(b byte, emit func(inputToken)) {
	switch {
	case s.state == scanStringEscape && b == '\\', b == 0x07 && len(s.buf) > 2:
		s.finish(inString, b, true, emit)
	case s.state == scanStringEscape:
		// The ESC began something new.
		s.buf = s.buf[:len(s.buf)-1]
		s.emit(inBroken, emit)
		s.push(0x1b, emit)
		s.push(b, emit)
	case len(s.buf) == 2 && strings.IndexByte(stringStarts(s.buf[1]), b) < 0,
		len(s.buf) >= maxInputString, b < 0x20 && b != 0x1b:
		s.cut(b, emit)
	default:
		s.buf = append(s.buf, b)
		if b == 0x1b {
			s.state = scanStringEscape
		}
	}
}

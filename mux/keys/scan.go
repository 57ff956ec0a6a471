package keys

import "strings"

// TokenKind is the kind of a piece of a terminal's input.
type TokenKind int

const (
	TokenByte   TokenKind = iota // one byte outside any sequence
	TokenAlt                     // ESC and one byte
	TokenCSI                     // CSI … final
	TokenSS3                     // SS3 final
	TokenMouse                   // CSI M and three bytes
	TokenString                  // OSC, DCS or APC with its terminator
	TokenPaste                   // bytes of a bracketed paste, including its end mark
	TokenBroken                  // a sequence cut short by something else
)

// Token is one piece of input. Data is valid until the next call.
type Token struct {
	Kind TokenKind
	Data []byte
}

const (
	PasteStart = "\x1b[200~"
	PasteEnd   = "\x1b[201~"

	maxInputCSI    = 256      // bytes of a CSI sequence from a terminal
	maxInputString = 64 << 10 // bytes of a string from a terminal

	// Patience is how many calls of Flush an unfinished sequence of three or more
	// bytes survives.
	Patience = 10
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

// Scanner cuts what a terminal sends into tokens, in order and without gaps: the data
// of all tokens together is the input. Pieces may be of any size.
//
// A terminal's replies and the Alt key begin alike (ESC ] is also Alt-]). What follows
// decides: a string must continue as a terminal's does. A sequence that stays
// unfinished was a key: see Flush.
type Scanner struct {
	state scanState
	Buf   []byte // the unfinished sequence
	idle  int    // calls of Flush since the last byte
	paste bool   // inside a bracketed paste
	seen  int    // inside a paste: bytes of PasteEnd just seen
}

// Feed takes the next bytes and calls emit for every finished token.
func (s *Scanner) Feed(p []byte, emit func(Token)) {
	s.idle = 0
	for len(p) > 0 {
		if s.paste {
			n := s.pasted(p)
			emit(Token{TokenPaste, p[:n]})
			p = p[n:]
			continue
		}
		s.push(p[0], emit)
		p = p[1:]
	}
}

// pasted returns how many bytes of p belong to the paste.
func (s *Scanner) pasted(p []byte) int {
	for i, b := range p {
		switch {
		case b == PasteEnd[s.seen]:
			s.seen++
		case b == PasteEnd[0]:
			s.seen = 1
		default:
			s.seen = 0
		}
		if s.seen == len(PasteEnd) {
			s.paste, s.seen = false, 0
			return i + 1
		}
	}
	return len(p)
}

// Pending reports whether a sequence is unfinished.
func (s *Scanner) Pending() bool { return len(s.Buf) > 0 }

// Flush notes that no byte came for a moment. ESC alone and ESC with one byte are then
// keys. The rest of a longer start may still be on its way; Flush emits it as broken
// after Patience calls.
func (s *Scanner) Flush(emit func(Token)) {
	switch {
	case len(s.Buf) == 0:
		return
	case len(s.Buf) == 1:
		s.emit(TokenByte, emit)
	case len(s.Buf) == 2:
		s.emit(TokenAlt, emit)
	default:
		if s.idle++; s.idle >= Patience {
			s.emit(TokenBroken, emit)
		}
	}
}

// emit emits the unfinished bytes as one token.
func (s *Scanner) emit(kind TokenKind, emit func(Token)) {
	data := s.Buf
	s.Buf, s.state, s.idle = s.Buf[:0], scanGround, 0
	emit(Token{kind, data})
}

// cut emits the unfinished sequence as broken and starts again with b.
func (s *Scanner) cut(b byte, emit func(Token)) {
	kind := TokenBroken
	if len(s.Buf) == 2 {
		kind = TokenAlt
	}
	s.emit(kind, emit)
	s.push(b, emit)
}

func (s *Scanner) push(b byte, emit func(Token)) {
	switch s.state {
	case scanGround:
		s.Buf = append(s.Buf, b)
		if b == 0x1b {
			s.state = scanEscape
			return
		}
		s.emit(TokenByte, emit)
	case scanEscape:
		s.pushEscape(b, emit)
	case scanCSI:
		s.pushCSI(b, emit)
	case scanCSIConsole:
		s.finish(TokenCSI, b, b >= 0x40 && b <= 0x7e, emit)
	case scanSS3:
		if b >= '0' && b <= '9' && len(s.Buf) < 4 {
			s.Buf = append(s.Buf, b)
			return
		}
		s.finish(TokenSS3, b, b >= 0x40 && b <= 0x7e, emit)
	case scanMouse:
		if len(s.Buf) < len("\x1b[Mbx") && b != 0x1b {
			s.Buf = append(s.Buf, b)
			return
		}
		s.finish(TokenMouse, b, b != 0x1b, emit)
	case scanString, scanStringEscape:
		s.pushString(b, emit)
	}
}

// finish ends the sequence with b if b fits, else cuts it.
func (s *Scanner) finish(kind TokenKind, b byte, fit bool, emit func(Token)) {
	if !fit {
		s.cut(b, emit)
		return
	}
	s.Buf = append(s.Buf, b)
	s.emit(kind, emit)
}

func (s *Scanner) pushEscape(b byte, emit func(Token)) {
	if b == 0x1b { // the first ESC was a key
		s.emit(TokenByte, emit)
		s.push(b, emit)
		return
	}
	s.Buf = append(s.Buf, b)
	switch b {
	case '[':
		s.state = scanCSI
	case 'O':
		s.state = scanSS3
	case ']', 'P', '_':
		s.state = scanString
	default:
		s.emit(TokenAlt, emit)
	}
}

func (s *Scanner) pushCSI(b byte, emit func(Token)) {
	first := len(s.Buf) == 2
	switch {
	case len(s.Buf) >= maxInputCSI || b < 0x20 || b > 0x7e:
		s.cut(b, emit)
	case first && b == '[':
		s.Buf, s.state = append(s.Buf, b), scanCSIConsole
	case first && b == 'M':
		s.Buf, s.state = append(s.Buf, b), scanMouse
	case b < 0x40:
		s.Buf = append(s.Buf, b)
	default:
		s.Buf = append(s.Buf, b)
		s.paste = string(s.Buf) == PasteStart
		s.emit(TokenCSI, emit)
	}
}

// stringStarts returns the bytes with which a terminal begins a string of the kind: OSC
// with a number, or l and L (titles); DCS of XTVERSION (>), DA3 (!), DECRPSS, XTGETTCAP
// and DECUDK-like reports (digits), kitty's remote control (@); APC of kitty graphics
// (G).
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

func (s *Scanner) pushString(b byte, emit func(Token)) {
	switch {
	case s.state == scanStringEscape && b == '\\', b == 0x07 && len(s.Buf) > 2:
		s.finish(TokenString, b, true, emit)
	case s.state == scanStringEscape:
		// The ESC began something new.
		s.Buf = s.Buf[:len(s.Buf)-1]
		s.emit(TokenBroken, emit)
		s.push(0x1b, emit)
		s.push(b, emit)
	case len(s.Buf) == 2 && strings.IndexByte(stringStarts(s.Buf[1]), b) < 0,
		len(s.Buf) >= maxInputString, b < 0x20 && b != 0x1b:
		s.cut(b, emit)
	default:
		s.Buf = append(s.Buf, b)
		if b == 0x1b {
			s.state = scanStringEscape
		}
	}
}

package vt

import (
	"bytes"
	"strconv"

	"gascity.dev/gc/vt/internal/picture"
)

// string handles a byte of a held control string.
func (f *HostFilter) string(dst []byte, c byte) []byte {
	osc := f.held[1] == ']'
	switch {
	case f.state == ftStringE && c == '\\', c == 0x07 && osc, c == 0x9c && f.c2:
		return f.endString(dst, c)
	case f.state == ftStringE && c == 0x1b && f.isPassthrough():
		f.held, f.state = append(f.held, c), ftString // in tmux's passthrough a doubled ESC is one of the payload
	case f.state == ftStringE && c != 0x1b: // another sequence begins
		f.drop()
		return f.begin(dst, c)
	case c == 0x1b:
		f.state = ftStringE
	case c == 0x18 || c == 0x1a:
		f.drop()
	case c < 0x20 && c != '\r' && c != '\n' && c != '\t': // BEL would end it on some terminals
	default:
		// A C1 control inside would be executed by some terminals.
		f.void = f.void || f.c2 && c >= 0x80 && c < 0xa0
		f.held, f.c2 = append(f.held, c), c == 0xc2
		if len(f.held) > maxHeld && !(f.isPassthrough() && len(f.held) < maxDCS) {
			return f.beginLong(dst)
		}
	}
	return dst
}

// endString passes or removes a complete string. c is the last byte of its
// terminator.
func (f *HostFilter) endString(dst []byte, c byte) []byte {
	if c == 0x9c { // ST in UTF-8
		f.held = f.held[:len(f.held)-1]
	}
	body := f.held[2:]
	switch {
	case f.isPassthrough():
		g := HostFilter{Images: f.Images}
		dst = g.Filter(dst, body[len(tmuxPrefix):])
		f.stale = f.stale || g.stale
	case !f.void && passesString(f.held[1], body) && f.shows(body):
		dst = append(dst, f.held...)
		if c == 0x07 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '\x1b', '\\')
		}
	default:
		f.stale = f.stale || f.isImage()
	}
	f.drop()
	return dst
}

// beginLong judges a string by its beginning.
func (f *HostFilter) beginLong(dst []byte) []byte {
	body := f.held[2:]
	f.void = f.void || !passesLong(f.held[1], body) || !f.shows(body)
	if !f.void {
		dst = append(dst, f.held...)
	}
	f.image, f.size = f.isImage(), len(f.held)
	f.held, f.state, f.c2 = f.held[:2], ftLong, false
	return dst
}

// maxImage limits an image, and a text for the clipboard, in bytes: a longer one is cut off
// and cancelled.
const maxImage = 4 << 20

// isImage reports whether the held string shows an image.
func (f *HostFilter) isImage() bool {
	_, ok := picture.Of(f.held[1], f.held[2:])
	return ok
}

// shows reports whether the terminal shows images of the held string's protocol, or the
// string is of none.
func (f *HostFilter) shows(body []byte) bool {
	kind := imagesOf(f.held[1], body)
	return kind == 0 || f.Images&kind != 0
}

// Begin appends the part of t's unfinished sequence that may pass, before what follows it.
// Of a string whose beginning is all that t has, the rest does not pass.
func (f *HostFilter) Begin(dst []byte, t *Terminal) []byte {
	pending := t.parser.pending()
	dst = f.Filter(dst, pending)
	f.void = f.void || len(pending) == maxPending
	return dst
}

// Long reports whether the filter is within a string too long to hold.
func (f *HostFilter) Long() bool { return f.state >= ftLong }

// long follows a long string to its end. What may be long is ASCII. If another
// sequence cuts it off, it is cancelled (CAN).
func (f *HostFilter) long(dst []byte, c byte) []byte {
	wasC2 := f.c2
	f.c2 = c == 0xc2
	pass := func(p ...byte) {
		if !f.void {
			dst = append(dst, p...)
		}
	}
	switch {
	case f.state == ftLongE && c == '\\', c == 0x9c && wasC2:
		pass('\x1b', '\\')
		f.endLong()
	case f.state == ftLongE:
		pass(0x18)
		f.drop()
		return f.begin(dst, c)
	case c == 0x1b:
		f.state = ftLongE
	case c == 0x07 && f.held[1] == ']':
		pass(c)
		f.endLong()
	case c == 0x18 || c == 0x1a:
		pass(0x18)
		f.drop()
	case c >= 0x20 && c < 0x7f || c == '\r' || c == '\n':
		pass(c)
		if f.size++; f.size > maxImage {
			pass(0x18)
			f.void = true
		}
	}
	return dst
}

// endLong ends a long string.
func (f *HostFilter) endLong() {
	f.stale = f.stale || f.void && f.image
	f.drop()
}

// isPassthrough reports whether a string for tmux's passthrough is held. Other
// terminals would print its content.
func (f *HostFilter) isPassthrough() bool {
	return f.held[1] == 'P' && bytes.HasPrefix(f.held[2:], tmuxPrefix)
}

// passesString reports whether a control string may pass.
func passesString(kind byte, body []byte) bool {
	switch kind {
	case ']':
		return passesOSC(body)
	case 'P':
		i := bytes.IndexFunc(body, func(r rune) bool { return r >= 0x40 })
		if i < 0 {
			return false
		}
		s, ok := splitSequence(body[:i+1])
		if !ok {
			return false
		}
		r := ruleFor(passDCS[:], s.name)
		return r != nil && (r.args == nil || r.args(s.args()))
	case '_':
		return passesAPC(body)
	}
	return false // PM, SOS and the title of screen(1) are printed as text by some terminals
}

func passesOSC(body []byte) bool {
	head, rest, _ := bytes.Cut(body, []byte(";"))
	n, err := strconv.Atoi(string(head))
	if err != nil {
		return false
	}
	for i := range passOSC {
		if r := &passOSC[i]; r.n == n {
			return r.text == nil || r.text(rest)
		}
	}
	return false
}

// passesLong is passesString for the beginning of a long string.
func passesLong(kind byte, body []byte) bool {
	if kind == ']' {
		return (bytes.HasPrefix(body, []byte("52;")) || bytes.HasPrefix(body, []byte("1337;"))) && passesOSC(body)
	}
	return passesString(kind, body)
}

package copymode

import (
	"unicode/utf8"

	"gascity.dev/gc/mux/keys"
)

// maxPattern bounds a pattern, in bytes.
const maxPattern = 500

// prompt is a pattern that a person is typing.
type prompt struct {
	back bool
	text []byte
}

// sign is how the prompt begins.
func (p *prompt) sign() string {
	if p.back {
		return "?"
	}
	return "/"
}

// Control keys of a prompt.
const (
	ctrlC, ctrlG, ctrlH  = 0x03, 0x07, 0x08
	ctrlU, ctrlW, escape = 0x15, 0x17, 0x1b
	backspace            = 0x7f
)

// typed adds a key to the prompt. Of the keys that a press may be, the last one is its text.
func (m *Model) typed(pressed []keys.Identity) {
	if len(pressed) == 0 {
		return
	}
	k, p := pressed[len(pressed)-1], m.prompt
	if k.Mods != 0 {
		return
	}
	switch k.Code {
	case '\r', '\n':
		m.prompt = nil
		if pattern := string(p.text); pattern != "" && utf8.ValidString(pattern) {
			m.search(pattern, p.back)
		} else if m.pattern != "" {
			m.back = p.back
			m.look(p.back)
		}
	case ctrlC, ctrlG, escape:
		m.prompt = nil
	case backspace, ctrlH:
		if len(p.text) == 0 {
			m.prompt = nil
			return
		}
		_, n := utf8.DecodeLastRune(p.text)
		p.text = p.text[:len(p.text)-n]
	case ctrlU, ctrlW:
		p.text = nil
	default:
		m.prompt.add(k.Code)
	}
}

// add adds a byte of text, or a character.
func (p *prompt) add(c keys.Code) {
	switch {
	case c < ' ' || c > utf8.MaxRune || len(p.text) >= maxPattern:
	case c < 0x100: // terminals send characters byte by byte
		p.text = append(p.text, byte(c))
	default:
		p.text = utf8.AppendRune(p.text, rune(c))
	}
}

// Paste adds pasted text to a pattern that is being typed.
func (m *Model) Paste(text []byte) {
	if m.prompt == nil {
		return
	}
	for _, c := range text {
		if c >= ' ' && c != backspace {
			m.prompt.add(keys.Code(c))
		}
	}
}

package server

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fingerprint is the end of a message, without blanks: short enough to stand
// on one line of a screen, long enough to be told from what stood there.
func fingerprint(text string) string {
	const runes = 16
	text = text[strings.LastIndexByte(text, '\n')+1:]
	text = squeeze(text)
	n := 0
	for i := len(text); i > 0; {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
		if n++; n == runes {
			return text[i:]
		}
	}
	return text
}

// squeeze removes blanks, which programs change when they wrap and pad.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

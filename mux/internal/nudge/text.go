package nudge

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fingerprint is the end of a message without blanks: short enough for one line of a
// screen, long enough to differ from what was there.
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

// FirstPrint is the fingerprint of a message's first line, which agents show whole. The
// controller's messages begin with the time.
func FirstPrint(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return fingerprint(line)
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

package keys

import (
	"bytes"
	"strings"
	"unicode"
)

// AppendPaste appends data as a terminal pastes it. It removes paste marks from the
// data, which could otherwise end the paste and become keys.
func AppendPaste(dst, data []byte, bracketed bool) []byte {
	if !bracketed {
		return append(dst, data...)
	}
	dst = append(dst, PasteStart...)
	dst = append(dst, withoutMarks(data)...)
	return append(dst, PasteEnd...)
}

// withoutMarks removes paste marks until none is left: removing one can create another.
func withoutMarks(data []byte) []byte {
	for bytes.Contains(data, []byte(PasteStart)) || bytes.Contains(data, []byte(PasteEnd)) {
		data = bytes.ReplaceAll(data, []byte(PasteStart), nil)
		data = bytes.ReplaceAll(data, []byte(PasteEnd), nil)
	}
	return data
}

// CleanText returns a nudge's text with LF for CR LF and CR, without other control
// characters except tab, and without trailing newlines, since Enter follows.
func CleanText(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	return strings.TrimRight(text, "\n")
}

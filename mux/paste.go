package mux

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// appendPaste appends data as a terminal pastes it. Marks of a paste inside
// the data are taken out, so that nothing pasted can end the paste and become
// keys.
func appendPaste(dst, data []byte, bracketed bool) []byte {
	if !bracketed {
		return append(dst, data...)
	}
	dst = append(dst, pasteStart...)
	dst = append(dst, withoutMarks(data)...)
	return append(dst, pasteEnd...)
}

// withoutMarks removes paste marks until none is left: taking one out must not
// make another.
func withoutMarks(data []byte) []byte {
	for bytes.Contains(data, []byte(pasteStart)) || bytes.Contains(data, []byte(pasteEnd)) {
		data = bytes.ReplaceAll(data, []byte(pasteStart), nil)
		data = bytes.ReplaceAll(data, []byte(pasteEnd), nil)
	}
	return data
}

// cleanMessage is a nudge's text without what is no text: control characters
// but tab and newline; CR LF and CR become LF, trailing newlines go, as Enter
// is pressed afterwards.
func cleanMessage(text string) string {
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

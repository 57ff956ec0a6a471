package mux

import (
	"bytes"
	"strings"
	"unicode"
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

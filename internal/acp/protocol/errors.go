package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxErrorText is how many bytes of an agent's error are shown.
const maxErrorText = 500

// ErrorText returns an error of an agent as one line: its message, and the details
// in its data, where the reason often is.
func ErrorText(code int64, message string, data json.RawMessage) string {
	text := inner(message, 0)
	details := inner(string(data), 0)
	switch {
	case text == "" && details == "":
		text = message
	case text == "":
		text = details
	case details != "" && !strings.Contains(text, details):
		text += ": " + details
	}
	if text = oneLine(text, maxErrorText); text == "" {
		return fmt.Sprintf("error %d", code)
	}
	return text
}

// inner returns the text of an error. Some agents pass on a service's error, which is
// JSON itself.
func inner(text string, depth int) string {
	text = strings.TrimSpace(text)
	raw := []byte(text)
	if depth > 3 || text == "" || isNull(raw) {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return inner(s, depth+1)
		}
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return text
		}
		for _, key := range []string{"details", "message", "error", "reason"} {
			if s := inner(string(fields[key]), depth+1); s != "" {
				return s
			}
		}
		return "" // members for programs
	}
	return text
}

// oneLine returns the text without control characters, in one line of at most max
// bytes.
func oneLine(text string, max int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= max {
		return text
	}
	n := max - len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

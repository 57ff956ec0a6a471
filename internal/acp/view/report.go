package view

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxReportText is the longest text of a report, in bytes (Program Status Protocol).
const maxReportText = 2048

// reportable are the states that the Program Status Protocol has.
var reportable = []string{"idle", "working", "blocked", "done", "error", "clear"}

// Report returns the OSC 7501 sequence that reports the agent's state, and of a
// blocked one the kind; nil for a state that cannot be reported, such as starting. The
// nonce proves that it comes from the host; "" leaves it out. msg is one line for a
// person.
func Report(state, kind, nonce, msg string) []byte {
	if !slices.Contains(reportable, state) {
		return nil
	}
	var b strings.Builder
	b.WriteString("\x1b]7501;state=" + state + ":app=gc-acp")
	if kind != "" {
		b.WriteString(":kind=" + kind)
	}
	if nonce != "" {
		b.WriteString(":nonce=" + nonce)
	}
	if msg = reportText(msg); msg != "" {
		b.WriteString(":msg=" + base64.StdEncoding.EncodeToString([]byte(msg)))
	}
	b.WriteString("\x1b\\")
	return []byte(b.String())
}

// reportText returns a text on one line, short enough for a report.
func reportText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > maxReportText {
		at := maxReportText
		for !utf8.RuneStart(text[at]) {
			at--
		}
		text = text[:at]
	}
	return strings.TrimSpace(text)
}

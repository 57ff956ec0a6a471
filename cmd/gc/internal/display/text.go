package display

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Line returns s on one line: every control character, line separator and
// bidirectional override becomes an escape such as \x1b, a broken byte U+FFFD.
func Line(s string) string { return clean(s, "") }

// Text is Line that keeps line ends and tabs.
func Text(s string) string { return clean(s, "\n\t") }

func clean(s, keep string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return hostile(r) && !strings.ContainsRune(keep, r) }) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hostile(r) || strings.ContainsRune(keep, r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// hostile reports whether a terminal obeys the rune instead of showing it: C0, DEL, C1,
// the line and paragraph separators, and the bidirectional controls
// (Unicode UAX #9, 2).
func hostile(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case r == '\u200e', r == '\u200f', r == '\u061c', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return false
}

// Wrap breaks a line between words into lines of at most width columns, where its
// words allow it. A width ≤ 0 leaves it whole.
func Wrap(line string, width int) []string {
	if width <= 0 {
		return []string{line}
	}
	var lines []string
	at := ""
	for word := range strings.FieldsSeq(line) {
		switch {
		case at == "":
			at = word
		case displaywidth.String(at)+1+displaywidth.String(word) <= width:
			at += " " + word
		default:
			lines, at = append(lines, at), word
		}
	}
	return append(lines, at)
}

// Ago is the time since t in one unit: 12s, 5m, 3h, 2d; "-" for the zero time.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Memory is a number of bytes in MiB.
func Memory(n int64) string {
	const mib = 1 << 20
	if n < 10*mib {
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}

// Count is "1 agent" or "3 agents".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/internal/shell"
)

// Text that programs made (screens, titles, names, error text) never reaches a
// person's terminal raw: a control character in it would be obeyed.

// cleanLine is s on one line: every control character, line separator and
// bidirectional override is shown as an escape such as \x1b; a broken byte is
// U+FFFD.
func cleanLine(s string) string { return clean(s, "") }

// cleanText is cleanLine that keeps line ends and tabs.
func cleanText(s string) string { return clean(s, "\n\t") }

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

// hostile reports runes that a terminal obeys instead of showing: C0, DEL, C1,
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

// ago is the time since t in one unit: 12s, 5m, 3h, 2d; "-" for the zero time.
func ago(t, now time.Time) string {
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

// memory is a number of bytes as a person reads it.
func memory(n int64) string {
	const mib = 1 << 20
	if n < 10*mib {
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}

// count is "1 agent" or "3 agents".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// shellLine makes one shell command line of a program and its arguments, which
// takes the shell's place. One argument alone is a command line already.
func shellLine(argv []string) string {
	switch len(argv) {
	case 0:
		return ""
	case 1:
		return argv[0]
	}
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = shell.Word(a)
	}
	return "exec " + strings.Join(quoted, " ")
}

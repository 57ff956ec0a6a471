// Package cells makes rows of a terminal: text and what other terminals show, as bytes that
// a person's terminal may get.
//
// Nothing that a program printed leaves it as a control sequence: text loses its control and
// bidirectional characters, and the cells of a screen become characters and colours. The
// package is pure. internal/tui calls it.
package cells

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/vt"
)

// Clean returns a text on one line. What a terminal would obey instead of show, and what
// nobody would see, becomes an escape such as \x1b; tabs become blanks.
func Clean(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r == '\t' || hostile(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case hostile(r):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hostile reports whether a terminal obeys a character, or shows nothing of it: controls,
// separators of lines, bidirectional controls (UAX #9, 2), tags.
func hostile(r rune) bool {
	switch {
	case r < 0x20, r == 0x7f, r >= 0x80 && r < 0xa0:
		return true
	case r < 0x61c:
		return r == 0xad
	case r == '\u200d': // joins emoji
		return false
	}
	return unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// Width returns the columns of a clean text.
func Width(s string) int {
	cols := 0
	for at := 0; at < len(s); {
		n, c := next(s[at:])
		at, cols = at+n, cols+c
	}
	return cols
}

// Cut returns the beginning of a clean text that fits, and its columns. A text that does not
// fit ends with an ellipsis.
func Cut(s string, cols int) (string, int) {
	if cols <= 0 {
		return "", 0
	}
	used, short, shortCols := 0, 0, 0
	for at := 0; at < len(s); {
		n, c := next(s[at:])
		if used+c > cols {
			return s[:short] + "…", shortCols + 1
		}
		at, used = at+n, used+c
		if used < cols {
			short, shortCols = at, used
		}
	}
	return s, used
}

// next returns the length and the columns of the first character.
func next(s string) (n, cols int) {
	if s[0] < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		return 1, 1
	}
	return vt.Character([]byte(s[:min(len(s), 64)]))
}

// Wrap breaks a text into lines of at most so many columns, between words where it can. Line
// ends are kept.
func Wrap(text string, cols int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, wrapLine(Clean(line), max(cols, 1))...)
	}
	return lines
}

func wrapLine(s string, cols int) []string {
	var lines []string
	for {
		end, blank, used := 0, -1, 0
		for end < len(s) {
			n, c := next(s[end:])
			if used+c > cols {
				break
			}
			if s[end] == ' ' {
				blank = end
			}
			end, used = end+n, used+c
		}
		switch {
		case end == len(s):
			return append(lines, s)
		case s[end] == ' ':
			blank = end
		case end == 0: // one character is wider than a line
			end, _ = next(s)
		}
		if blank > 0 {
			lines, s = append(lines, s[:blank]), s[blank+1:]
			continue
		}
		if lines, s = append(lines, s[:end]), s[end:]; s == "" {
			return lines
		}
	}
}

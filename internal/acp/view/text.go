package view

import (
	"strings"
	"unicode/utf8"

	"gascity.dev/gc/vt"
)

// tab replaces a tab.
const tab = "    "

// clean returns text as it may be written to a terminal: without control characters
// except newline, without characters that have no column of their own or reorder a
// line, tabs as blanks, broken bytes as U+FFFD.
func clean(text string) string {
	if isPlain(text) {
		return text
	}
	rest := []byte(strings.ToValidUTF8(text, string(utf8.RuneError)))
	out := make([]byte, 0, len(rest))
	for len(rest) > 0 {
		switch n, cols := vt.Character(rest); {
		case rest[0] == '\n':
			out, rest = append(out, '\n'), rest[1:]
		case rest[0] == '\t':
			out, rest = append(out, tab...), rest[1:]
		case rest[0] >= ' ' && rest[0] < 0x7f && n == 1:
			out, rest = append(out, rest[0]), rest[1:]
		case cols == 0:
			rest = rest[n:]
		default:
			out, rest = append(out, rest[:n]...), rest[n:]
		}
	}
	return string(out)
}

// isPlain reports whether text consists of printable ASCII and newlines.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' {
			return false
		}
	}
	return true
}

// character returns the length and the columns of the first character of clean text.
func character(text string) (n, cols int) {
	if text[0] < 0x7f && (len(text) == 1 || text[1] < 0x7f) {
		return 1, 1
	}
	return vt.Character([]byte(text[:min(len(text), maxCharacter)]))
}

// maxCharacter bounds the bytes of one character.
const maxCharacter = 256

// width returns the columns of a line of clean text.
func width(text string) int {
	if isPlain(text) {
		return len(text)
	}
	sum := 0
	for text != "" {
		n, cols := character(text)
		sum, text = sum+cols, text[n:]
	}
	return sum
}

// fit returns how many bytes of a line of clean text fit in cols columns.
func fit(text string, cols int) int {
	at := 0
	for at < len(text) {
		n, w := character(text[at:])
		if cols -= w; cols < 0 {
			break
		}
		at += n
	}
	return at
}

// wrap breaks a line of clean text into rows of at most cols columns, as a terminal
// does: anywhere. Every row has at least one character.
func wrap(line string, cols int) []string {
	var rows []string
	for {
		n := fit(line, cols)
		if n == 0 && line != "" {
			n, _ = character(line)
		}
		rows = append(rows, line[:n])
		if line = line[n:]; line == "" {
			return rows
		}
	}
}

// wrapWords is wrap, but breaks between words where it can.
func wrapWords(line string, cols int) []string {
	var rows []string
	for {
		row := wrap(line, cols)[0]
		if len(row) == len(line) {
			return append(rows, row)
		}
		line = line[len(row):]
		if at := strings.LastIndexByte(row, ' '); at > 0 && line[0] != ' ' && strings.TrimSpace(row[:at]) != "" {
			row, line = row[:at], row[at+1:]+line
		}
		rows, line = append(rows, strings.TrimRight(row, " ")), strings.TrimLeft(line, " ")
	}
}

// cut shortens a line of clean text to cols columns; "…" replaces the rest.
func cut(line string, cols int) string {
	if len(line) <= cols || width(line) <= cols {
		return line
	}
	if cols <= 0 {
		return ""
	}
	return line[:fit(line, cols-1)] + "…"
}

// height returns how many rows a terminal of cols columns makes of one row.
func height(row string, cols int) int {
	rows, x := 1, 0
	for row != "" {
		n, w := character(row)
		if row = row[n:]; x+w > cols {
			rows, x = rows+1, 0
		}
		x += w
	}
	return rows
}

// oneLine returns clean text on one line, blanks joined, at most limit bytes.
func oneLine(text string, limit int) string {
	short := text[:min(len(text), 2*limit)]
	line := strings.Join(strings.Fields(clean(short)), " ")
	if len(line) <= limit && len(short) == len(text) {
		return line
	}
	return strings.TrimSpace(strings.ToValidUTF8(line[:min(len(line), limit)], "")) + "…"
}

// tail returns the end of text, about limit bytes, from the start of a character on.
func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	at := len(text) - limit
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

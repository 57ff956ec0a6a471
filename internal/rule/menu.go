package rule

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Option is one line that a menu offers.
type Option struct {
	Row    int    // index into the screen's lines
	Col    int    // column of the label, in runes
	Number int    // 1 for "1. Yes"; 0 without one
	Label  string // without marker, number and frame
	Marked bool   // the selection stands on it
	boxed  bool   // a frame stands left of it
}

// markers are the signs agents put before the selected option.
const markers = "❯›●>▶▸"

// ticks stand before or behind the value in force.
const ticks = "✔✓"

// frames are the characters of boxes, cut at both ends of a line.
const frames = "│┃║|╭╮╰╯┌┐└┘─━═╹╻▀▄"

// parseOption reads a line as an option. ok is false for a line without text.
func parseOption(row int, line string) (Option, bool) {
	o := Option{Row: row}
	rest := []rune(strings.TrimRightFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(frames, r)
	}))
	i := 0
	skip := func() {
		for i < len(rest) && unicode.IsSpace(rest[i]) {
			i++
		}
	}
	skip()
	if i < len(rest) && strings.ContainsRune("│┃║|", rest[i]) {
		o.boxed = true
		i++
		skip()
	}
	if i+1 < len(rest) && strings.ContainsRune(markers, rest[i]) {
		j := i + 1
		for j < len(rest) && (rest[j] == '\ufe0e' || rest[j] == '\ufe0f') {
			j++
		}
		if j < len(rest) && unicode.IsSpace(rest[j]) {
			o.Marked = true
			i = j
			skip()
		}
	}
	if i+1 < len(rest) && strings.ContainsRune(ticks, rest[i]) && unicode.IsSpace(rest[i+1]) {
		i++ // the value in force
		skip()
	}
	o.Number, i = number(rest, i)
	o.Col = i
	o.Label = strings.TrimSpace(string(rest[i:]))
	return o, o.Label != ""
}

// number reads "12. " or "3) " at i and returns it with the index behind it.
func number(rest []rune, i int) (n, next int) {
	j := i
	for j < len(rest) && j-i < 2 && rest[j] >= '0' && rest[j] <= '9' {
		n = n*10 + int(rest[j]-'0')
		j++
	}
	if j == i || j+1 >= len(rest) || rest[j] != '.' && rest[j] != ')' || !unicode.IsSpace(rest[j+1]) {
		return 0, i
	}
	j++
	for j < len(rest) && unicode.IsSpace(rest[j]) {
		j++
	}
	return n, j
}

// SameLabel reports whether a label on the screen is the one meant: equal, or
// equal but for a bracketed remark or a tick mark behind it.
func SameLabel(onScreen, meant string) bool {
	if meant == "" {
		return false
	}
	rest, ok := strings.CutPrefix(onScreen, meant)
	if !ok {
		return false
	}
	if rest == "" {
		return true
	}
	rest, ok = strings.CutPrefix(rest, " ")
	rest = strings.TrimSpace(rest)
	if !ok {
		return false
	}
	if strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")") {
		return true
	}
	r, size := utf8.DecodeRuneInString(rest)
	return size == len(rest) && strings.ContainsRune(ticks, r)
}

// flat is a screen as running text: frames cut, white space and line breaks
// collapsed, so that a wrapped sentence is still found. rows[i] is the row of
// byte i.
type flat struct {
	text string
	rows []int
}

func flatten(lines []string) flat {
	var b strings.Builder
	var rows []int
	for row, line := range lines {
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(frames, r)
		}) {
			if b.Len() > 0 {
				b.WriteByte(' ')
				rows = append(rows, row)
			}
			b.WriteString(word)
			for range len(word) {
				rows = append(rows, row)
			}
		}
	}
	return flat{text: b.String(), rows: rows}
}

// last returns the rows where the last occurrence of any text begins and ends.
func (f flat) last(texts []string) (first, end int, ok bool) {
	at, length := -1, 0
	for _, t := range texts {
		t = strings.Join(strings.Fields(t), " ")
		if i := strings.LastIndex(f.text, t); t != "" && i > at {
			at, length = i, len(t)
		}
	}
	if at < 0 {
		return 0, 0, false
	}
	return f.rows[at], f.rows[at+length-1], true
}

package rule

import (
	"strings"
	"unicode"
)

// flat is a screen as running text: frames trimmed, white space and line breaks
// collapsed, so that wrapped sentences are found. rows[i] is the row of byte i.
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

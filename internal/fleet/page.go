package fleet

import (
	"strings"

	"gascity.dev/gc/vt"
)

// PageLines is how many lines a page has unless it says so.
const PageLines = 500

// PageOf returns a page of rows that count from 1.
func PageOf(lines []vt.Line, p Page) History {
	h := History{Total: uint64(len(lines)) + 1, Lines: []HistoryLine{}}
	end := len(lines)
	if p.Before > 0 && p.Before <= uint64(len(lines)) {
		end = int(p.Before) - 1
	}
	want := p.Lines
	if want <= 0 {
		want = PageLines
	}
	from := end
	for from > 0 && len(h.Lines) < want {
		from--
		if p.Search == "" || Contains(lines[from], p.Search) {
			h.Lines = append(h.Lines, HistoryLine{N: uint64(from + 1), Line: lines[from]})
		}
	}
	for i, j := 0, len(h.Lines)-1; i < j; i, j = i+1, j-1 {
		h.Lines[i], h.Lines[j] = h.Lines[j], h.Lines[i]
	}
	h.More = from > 0
	return h
}

// Contains reports whether a row has a text, whatever the case.
func Contains(l vt.Line, text string) bool {
	var b strings.Builder
	for _, r := range l.Runs {
		b.WriteString(r.Text)
	}
	return strings.Contains(strings.ToLower(b.String()), strings.ToLower(text))
}

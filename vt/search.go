package vt

import (
	"bytes"
	"fmt"
	"regexp"
)

// SearchOptions say what Search looks for.
type SearchOptions struct {
	Pattern    string
	Regexp     bool // Pattern is a regular expression (package regexp)
	IgnoreCase bool
	Limit      int // matches returned, the newest; <= 0 is 1000
}

// Match is one occurrence of a pattern.
type Match struct {
	Row     int    `json:"row"` // of the screen, from 0; the row above the screen is -1, and so on
	Col     int    `json:"col"`
	EndRow  int    `json:"endRow"` // of the column after the match
	EndCol  int    `json:"endCol"`
	Text    string `json:"text"`    // the matched text
	Context string `json:"context"` // the whole line, unwrapped
}

// Search finds a pattern on the screen and in the history, newest first.
// Wrapped rows are searched as one line; a match never spans lines. It returns
// an error for an invalid regular expression.
func (t *Terminal) Search(o SearchOptions) ([]Match, error) {
	pattern := o.Pattern
	if !o.Regexp {
		pattern = regexp.QuoteMeta(pattern)
	}
	if o.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("search pattern: %w", err)
	}
	if o.Limit <= 0 {
		o.Limit = 1000
	}
	f := finder{re: re, limit: o.Limit, cols: t.cols}
	f.grapheme = t.modes&modeGrapheme != 0
	t.searchScreen(&f)
	t.searchHistory(&f)
	return f.found, nil
}

// finder collects matches, line by line from the bottom up.
type finder struct {
	re       *regexp.Regexp
	limit    int
	cols     int
	grapheme bool // the policy of the line
	found    []Match
}

// line searches one line. Its rows begin at the byte offsets starts; the first
// is screen row row.
func (f *finder) line(text []byte, starts []int, row int) {
	text = trimBlanks(text, 0)
	all := f.re.FindAllIndex(text, -1)
	for i := len(all) - 1; i >= 0 && len(f.found) < f.limit; i-- {
		from, to := all[i][0], all[i][1]
		if from == to {
			continue
		}
		m := Match{Text: string(text[from:to]), Context: string(text)}
		m.Row, m.Col = f.place(text, starts, row, from)
		m.EndRow, m.EndCol = f.place(text, starts, row, to)
		f.found = append(f.found, m)
	}
}

// place returns the row and column of byte at of a line.
func (f *finder) place(text []byte, starts []int, row, at int) (y, x int) {
	i := len(starts) - 1
	for i > 0 && starts[i] > at {
		i--
	}
	for n := starts[i]; n < at; {
		k, w := nextCluster(text[n:], f.grapheme)
		n += k
		x += w
	}
	return row + i, x
}

func (t *Terminal) searchScreen(f *finder) {
	s := t.seen()
	for y := t.rows - 1; y >= 0; {
		first := y
		for first > 0 && s.view(first-1).flags&rowWrapped != 0 {
			first--
		}
		var text []byte
		var starts []int
		row := first
		if h := t.hist; first == 0 && h != nil && h.open.any && s == &t.main {
			text, starts = f.plain(wrapStarts(append(text, h.openText(s)...), h.open.flags, t.cols))
			row -= len(starts)
		}
		for i := first; i <= y; i++ {
			starts = append(starts, len(text))
			text = t.appendRow(text, s, i)
		}
		f.line(text, starts, row)
		y = first - 1
	}
}

// plain removes exact characters from a line of history whose rows begin at
// starts.
func (f *finder) plain(text []byte, starts []int) ([]byte, []int) {
	out := inexact(text)
	if len(out) == len(text) {
		return text, starts
	}
	for i := len(starts) - 1; i > 0; i-- {
		starts[i] = len(inexact(text[:starts[i]]))
	}
	return out, starts
}

// wrapStarts returns the offsets where the rows of a line begin.
func wrapStarts(text []byte, flags lineFlags, cols int) ([]byte, []int) {
	starts := []int{0}
	for n := rowBytes(text, flags, cols); n < len(text); n += rowBytes(text[n:], flags, cols) {
		starts = append(starts, n)
	}
	return text, starts
}

func (t *Terminal) searchHistory(f *finder) {
	h := t.hist
	if h == nil {
		return
	}
	row := 0
	if h.open.any {
		text, starts := f.plain(wrapStarts(h.open.text, h.open.flags, t.cols))
		row -= len(starts)
		if t.seen() != &t.main {
			f.grapheme = h.open.flags&lineWcwidth == 0
			f.line(text, starts, row)
		}
	}
	var buf [64]span
	for n := h.closed; n > h.base() && len(f.found) < f.limit; n-- {
		p, i := h.pageOf(n - 1)
		l := h.line(p, i, buf[:0])
		if l.flags&lineGone != 0 {
			continue
		}
		text, starts := f.plain(wrapStarts(l.text, l.flags, t.cols))
		f.grapheme = l.flags&lineWcwidth == 0
		row -= len(starts)
		f.line(text, starts, row)
	}
}

// FindLine returns the number of the first line of the history, from line from on and among
// at most limit lines, that contains pattern; back searches from line from upwards. With
// fold, pattern must be in lower case, and case means nothing. next is where the search
// continues if it found nothing; done reports that no line is left.
func (t *Terminal) FindLine(pattern string, fold bool, from uint64, back bool, limit int) (found, next uint64, ok, done bool) {
	h := t.hist
	if h == nil || h.count == 0 || pattern == "" {
		return 0, from, false, true
	}
	n := max(from, h.base())
	if back {
		n = min(from, h.closed-1)
	}
	want := []byte(pattern)
	var buf [64]span
	for ; limit > 0; limit-- {
		if n < h.base() || n >= h.closed {
			return 0, n, false, true
		}
		p, i := h.pageOf(n)
		text := inexact(h.line(p, i, buf[:0]).text)
		if fold {
			text = bytes.ToLower(text)
		}
		if bytes.Contains(text, want) {
			return n, n, true, true
		}
		if back && n == 0 {
			return 0, n, false, true
		}
		if back {
			n--
		} else {
			n++
		}
	}
	return 0, n, false, false
}

package copymode

import (
	"strings"

	"gascity.dev/gc/vt"
)

// Source reads a session's history. An error ends one reading; the next key tries again.
type Source interface {
	// Lines returns at most count lines from number from on. at is the number of the first
	// one: older lines are no longer kept.
	Lines(from uint64, count int) (lines []vt.Line, at uint64, err error)
	// Find returns the number of the first line, from line from on downwards or, with back,
	// upwards, that contains the pattern. With fold the pattern is in lower case, and case
	// means nothing.
	Find(pattern string, fold bool, from uint64, back bool) (n uint64, found bool, err error)
}

// Moment is a session as it was when the view was opened.
type Moment struct {
	First  uint64   // the oldest line of the history
	Closed uint64   // the number after its last one
	Open   *vt.Line // what is above the screen of the line that its first row continues
	Screen vt.Screen
}

const (
	pageLines = 500  // lines read at once
	maxPages  = 40   // pages kept
	maxShaped = 2000 // lines kept in glyphs
)

// lines are those of a moment, numbered from first to end.
type lines struct {
	source             Source
	first, closed, end uint64
	screen             []*line // from closed on
	pages              map[uint64][]vt.Line
	order              []uint64 // of the pages, the oldest first
	shaped             map[uint64]*line
	err                error // the source failed; until the next key
}

func newLines(source Source, m Moment) *lines {
	ls := &lines{source: source, first: min(m.First, m.Closed), closed: m.Closed, pages: map[uint64][]vt.Line{}, shaped: map[uint64]*line{}}
	ls.screen, _ = screenLines(m)
	ls.end = ls.closed + uint64(len(ls.screen))
	return ls
}

// screenLines joins the rows of the screen to lines, and returns where each row begins.
func screenLines(m Moment) (all []*line, rows []pos) {
	var current *line
	if m.Open != nil {
		current = shape(*m.Open)
		all = append(all, current)
	}
	for y, r := range m.Screen.Lines {
		if current == nil {
			current = new(line)
			all = append(all, current)
		}
		rows = append(rows, pos{m.Closed + uint64(len(all)-1), len(current.glyphs)})
		part := shape(r)
		current.glyphs = append(current.glyphs, part.glyphs...)
		if !r.Wrapped || y == len(m.Screen.Lines)-1 {
			current = nil
			continue
		}
		pad(current, part, m.Screen.Cols, m.Screen.Lines[y+1])
	}
	if len(all) == 0 {
		all = append(all, new(line))
	}
	return all, rows
}

// pad adds the blanks that end a row which the next one continues.
func pad(l, row *line, cols int, next vt.Line) {
	used := 0
	for _, g := range row.glyphs {
		used += g.width
	}
	if below := shape(next); used == cols-1 && len(below.glyphs) > 0 && below.glyphs[0].width == 2 {
		return // a wide character did not fit
	}
	for ; used < cols; used++ {
		l.glyphs = append(l.glyphs, glyph{" ", 1, new(vt.Style)})
	}
}

// get returns line n; an empty one if it is not kept or cannot be read.
func (ls *lines) get(n uint64) *line {
	if n >= ls.closed {
		return ls.screen[min(n-ls.closed, uint64(len(ls.screen)-1))]
	}
	if l := ls.shaped[n]; l != nil {
		return l
	}
	data, ok := ls.data(n)
	if !ok {
		return new(line)
	}
	if len(ls.shaped) >= maxShaped {
		clear(ls.shaped)
	}
	l := shape(data)
	ls.shaped[n] = l
	return l
}

// data returns line n of the history.
func (ls *lines) data(n uint64) (vt.Line, bool) {
	page, ok := ls.page(n / pageLines)
	if !ok {
		return vt.Line{}, false
	}
	return page[n%pageLines], true
}

// page returns a page of the history, which it reads if need be.
func (ls *lines) page(number uint64) ([]vt.Line, bool) {
	if p, ok := ls.pages[number]; ok {
		return p, true
	}
	if ls.err != nil {
		return nil, false
	}
	from := number * pageLines
	count := min(pageLines, ls.closed-from)
	read, at, err := ls.source.Lines(from, int(count))
	if err != nil {
		ls.err = err
		return nil, false
	}
	page := make([]vt.Line, pageLines)
	if at > from {
		ls.first = min(max(ls.first, at), ls.closed)
	}
	if at >= from && at < from+pageLines {
		copy(page[at-from:], read)
	}
	if len(ls.order) == maxPages {
		delete(ls.pages, ls.order[0])
		ls.order = ls.order[1:]
	}
	ls.pages[number], ls.order = page, append(ls.order, number)
	return page, true
}

// text returns the text of line n, and whether the next one continues it.
func (ls *lines) text(n uint64) (text string, joined bool) {
	if n >= ls.closed {
		l := ls.get(n)
		return l.text(0, len(l.glyphs)), l.joined
	}
	data, _ := ls.data(n)
	var b strings.Builder
	for _, r := range data.Runs {
		b.WriteString(r.Text)
	}
	return b.String(), data.Wrapped
}

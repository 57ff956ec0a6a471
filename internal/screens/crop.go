package screens

import (
	"strings"

	"gascity.dev/gc/vt"
)

// part is what a crop leaves of a screen.
type part struct {
	top, height, width int
}

// partOf returns the part of a screen that a crop leaves.
func partOf(s *Screen, c Crop) part {
	p := part{height: len(s.Lines), width: s.Cols}
	if c.Cols > 0 {
		p.width = min(p.width, c.Cols)
	}
	if c.Rows > 0 && c.Rows < len(s.Lines) {
		last := len(s.Lines) - 1
		for last > 0 && len(s.Lines[last].Runs) == 0 {
			last--
		}
		p.top, p.height = max(0, last+1-c.Rows), c.Rows
	}
	return p
}

// rows returns the part's rows that differ from those of another screen of the same size;
// all of them if it is nil.
func (p part) rows(s, before *Screen) []Row {
	var out []Row
	for y := p.top; y < min(p.top+p.height, len(s.Lines)); y++ {
		if before != nil && y < len(before.Lines) && sameLine(&s.Lines[y], &before.Lines[y]) {
			continue
		}
		line := p.cut(s.Lines[y], s.Cols)
		if before != nil && y < len(before.Lines) && p.width < s.Cols {
			if was := p.cut(before.Lines[y], s.Cols); sameLine(&line, &was) {
				continue
			}
		}
		out = append(out, Row{Y: y, Line: line})
	}
	return out
}

// cut returns the columns of a line that the part shows.
func (p part) cut(l vt.Line, cols int) vt.Line {
	if p.width >= cols {
		return l
	}
	left, runs := p.width, l.Runs
	l.Runs = nil
	for _, r := range runs {
		if left <= 0 {
			break
		}
		fits, used := cutRun(r, left)
		if fits.Text != "" {
			l.Runs = append(l.Runs, fits)
		}
		if left -= used; len(fits.Text) < len(r.Text) {
			break // also at a wide character that does not fit
		}
	}
	return l
}

// cutRun returns the characters of a run that fit into so many columns, and how many
// columns they take.
func cutRun(r vt.Run, cols int) (cut vt.Run, used int) {
	points := 0
	for at := range r.Text {
		width := 1
		if points < len(r.Columns) {
			width = int(r.Columns[points] - '0')
		}
		if used+width > cols {
			r.Text = r.Text[:at]
			if r.Columns != "" {
				r.Columns = r.Columns[:points]
			}
			break
		}
		used += width
		points++
	}
	if r.Columns != "" && strings.Trim(r.Columns, "1") == "" {
		r.Columns = ""
	}
	return r, used
}

// newUpdate returns an update without rows.
func newUpdate(id string, s *Screen, p part) Update {
	return Update{
		ID: id, State: s.State, Why: s.Why, Incarnation: s.Incarnation, Revision: s.Revision, Cols: s.Cols, Rows: s.Rows,
		Title: s.Title, Cursor: s.Cursor, Reverse: s.Reverse, Plain: s.Plain, Top: p.top, Height: p.height, Width: p.width,
	}
}

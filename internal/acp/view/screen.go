package view

import (
	"slices"
	"strconv"
)

// Control sequences. Source: ECMA-48 (CUU, CUD, CUF, ED, EL), xterm's ctlseqs
// (DECSET 2004, 2026).
const (
	beginUpdate   = "\x1b[?2026h"
	endUpdate     = "\x1b[?2026l"
	bracketPaste  = "\x1b[?2004h"
	plainPaste    = "\x1b[?2004l"
	eraseBelow    = "\x1b[J"
	eraseRow      = "\x1b[2K"
	cursorUp      = 'A'
	cursorDown    = 'B'
	cursorForward = 'C'
	unscroll      = "+T"
)

// region is the live region: the rows at the end of the terminal's text, and where
// the cursor stands in it.
type region struct {
	rows     []line
	row, col int
}

// screen is the end of the terminal's text.
type screen struct {
	cols   int
	height int // of the terminal
	shown  region
	begun  bool   // something was painted
	anew   bool   // the terminal changed its size, or the region must be painted whole
	buffer []byte // output of the paint under way
}

// paint returns the bytes that put the lines above the region and make the region
// next; nil if nothing changes.
func (s *screen) paint(lines []line, next region) []byte {
	whole := s.anew || !s.begun || len(lines) > 0 || len(next.rows) != len(s.shown.rows)
	if !whole && slices.Equal(next.rows, s.shown.rows) && next.row == s.shown.row && next.col == s.shown.col {
		return nil
	}
	s.buffer = append(s.takeBack(make([]byte, 0, 1024)), beginUpdate...)
	if !s.begun {
		s.buffer = append(s.buffer, bracketPaste...)
	}
	if whole {
		s.paintWhole(lines, next)
	} else {
		s.paintChanged(next)
	}
	s.buffer = append(s.buffer, endUpdate...)
	s.shown, s.begun, s.anew = next, true, false
	out := s.buffer
	s.buffer = nil
	return out
}

// takeBack appends what takes the rows of the region back that a smaller terminal moved
// into its scrollback, and erases them: nothing of the region may stay there. The cursor is
// then at the beginning of the region, or what is above it.
func (s *screen) takeBack(out []byte) []byte {
	if !s.anew {
		return out
	}
	moved := -s.height
	for _, l := range s.shown.rows {
		moved += height(l.plain(), s.cols)
	}
	if moved <= 0 || s.height < 2 {
		return out
	}
	out = appendMove(append(out, '\r'), s.height-1, cursorUp)
	for ; moved > 0; moved -= s.height - 1 {
		out = append(strconv.AppendInt(append(out, "\x1b["...), int64(min(moved, s.height-1)), 10), unscroll...)
		out = append(out, eraseBelow...)
	}
	s.shown = region{}
	return out
}

// paintWhole erases the region and writes the lines and the next region in its place.
func (s *screen) paintWhole(lines []line, next region) {
	s.toTop()
	for _, l := range lines {
		s.buffer = append(l.appendTo(s.buffer), "\r\n"...)
	}
	for i, l := range next.rows {
		if i > 0 {
			s.buffer = append(s.buffer, "\r\n"...)
		}
		s.buffer = l.appendTo(s.buffer)
	}
	s.place(len(next.rows)-1, next.row, next.col)
}

// toTop moves to the first row of the region and erases everything from there on.
func (s *screen) toTop() {
	s.buffer = append(s.buffer, '\r')
	s.move(s.above(), cursorUp)
	s.buffer = append(s.buffer, eraseBelow...)
}

// paintChanged writes the rows that differ.
func (s *screen) paintChanged(next region) {
	at := s.shown.row
	for i, l := range next.rows {
		if l == s.shown.rows[i] {
			continue
		}
		s.place(at, i, 0)
		s.buffer = l.appendTo(append(s.buffer, eraseRow...))
		at = i
	}
	s.place(at, next.row, next.col)
}

// place moves the cursor from a row of the region to a position in it.
func (s *screen) place(from, row, col int) {
	s.buffer = append(s.buffer, '\r')
	s.move(from-row, cursorUp)
	s.move(row-from, cursorDown)
	s.move(col, cursorForward)
}

// move moves the cursor, not at all if n is less than 1.
func (s *screen) move(n int, direction byte) { s.buffer = appendMove(s.buffer, n, direction) }

func appendMove(out []byte, n int, direction byte) []byte {
	if n > 0 {
		out = append(strconv.AppendInt(append(out, "\x1b["...), int64(n), 10), direction)
	}
	return out
}

// above returns how many rows of the region are above the cursor. A terminal that
// has become narrower wraps rows, and its cursor stays on its character.
func (s *screen) above() int {
	if s.shown.rows == nil {
		return 0
	}
	n := 0
	for _, l := range s.shown.rows[:s.shown.row] {
		n += height(l.plain(), s.cols)
	}
	text := s.shown.rows[s.shown.row].plain()
	return n + height(text[:upTo(text, s.shown.col)], s.cols) - 1
}

// upTo returns the length of a row's text up to the character at a column, that
// character included.
func upTo(text string, col int) int {
	at, x := 0, 0
	for at < len(text) && x <= col {
		n, w := character(text[at:])
		at, x = at+n, x+w
	}
	return at
}

package copymode

import (
	"fmt"
	"unicode/utf8"

	"gascity.dev/gc/vt"
)

// Paint appends what draws the view on a terminal in its default modes.
func (m *Model) Paint(dst []byte) []byte {
	dst = append(dst, "\x1b[?2026h\x1b[?25l\x1b[m"...)
	at, shown := m.top, true
	cursorRow, cursorCol := 0, 0
	for y := range m.rows {
		dst = fmt.Appendf(dst, "\x1b[%d;1H\x1b[m\x1b[K", y+1)
		if shown {
			if at == m.spotOf(m.cursor) {
				cursorRow, cursorCol = y, m.line(at.line).columnOf(m.cursor.at, m.cols)
			}
			dst = m.paintRow(dst, at)
		}
		if shown {
			var moved int
			at, moved = m.down(at, 1)
			shown = moved == 1
		}
	}
	dst = m.paintPlace(dst)
	switch {
	case m.prompt != nil:
		dst, cursorCol = m.bottomRow(dst, m.prompt.sign()+string(m.prompt.text), true)
		cursorRow = m.rows - 1
	case m.message != "":
		dst, _ = m.bottomRow(dst, m.message, false)
	}
	return fmt.Appendf(dst, "\x1b[%d;%dH\x1b[?25h\x1b[?2026l", cursorRow+1, min(cursorCol, m.cols-1)+1)
}

// paintRow draws one row.
func (m *Model) paintRow(dst []byte, at spot) []byte {
	l := m.line(at.line)
	from, to := l.row(at.row, m.cols)
	found := l.matches(m.pattern, m.fold)
	col, last := 0, ""
	for i := from; i < to; i++ {
		g := l.glyphs[i]
		if g.width > m.cols {
			g.text, g.width = "?", 1
		}
		for len(found) > 0 && found[0][1] <= i {
			found = found[1:]
		}
		look := sgr(g.style)
		switch {
		case m.selected(pos{at.line, i}, at.row, col):
			look += "\x1b[7m"
		case len(found) > 0 && found[0][0] <= i:
			look += "\x1b[30;43m"
		}
		if look != last {
			dst, last = append(dst, look...), look
		}
		dst = append(dst, g.text...)
		if col += g.width; utf8.RuneCountInString(g.text) > 1 && col < m.cols {
			dst = fmt.Appendf(dst, "\x1b[%dG", col+1) // terminals differ in its width
		}
	}
	if l.last() == 0 && len(l.glyphs) == 0 && m.selecting != nothing && m.selecting != block && m.selected(pos{line: at.line}, 0, 0) {
		dst = append(dst, "\x1b[7m "...) // an empty line is seen to be selected
	}
	return dst
}

// paintPlace shows at the top right which line the cursor is on.
func (m *Model) paintPlace(dst []byte) []byte {
	text := fmt.Sprintf("[%d/%d]", m.cursor.line-m.lines.first+1, m.lines.end-m.lines.first)
	if len(text)*2 > m.cols {
		return dst
	}
	return fmt.Appendf(dst, "\x1b[1;%dH\x1b[0;30;43m%s\x1b[m", m.cols-len(text)+1, text)
}

// bottomRow shows a text over the last row, or its beginning or end if it is too long, and
// returns the column after it.
func (m *Model) bottomRow(dst []byte, text string, end bool) ([]byte, int) {
	var cells []glyph
	width := 0
	for rest := []byte(text); len(rest) > 0; {
		n, cols := vt.Character(rest)
		g := glyph{text: string(rest[:n]), width: cols}
		if r, _ := utf8.DecodeRuneInString(g.text); cols == 0 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			g = glyph{text: "?", width: 1}
		}
		cells, rest, width = append(cells, g), rest[n:], width+g.width
	}
	for len(cells) > 0 && width > max(m.cols-1, 1) {
		if end {
			width, cells = width-cells[0].width, cells[1:]
		} else {
			last := len(cells) - 1
			width, cells = width-cells[last].width, cells[:last]
		}
	}
	dst = fmt.Appendf(dst, "\x1b[%d;1H\x1b[0;30;43m", m.rows)
	for _, g := range cells {
		dst = append(dst, g.text...)
	}
	if width < m.cols {
		dst = append(dst, "\x1b[K"...)
	}
	return append(dst, "\x1b[m"...), width
}

// sgr returns what selects a rendition.
func sgr(s *vt.Style) string {
	if *s == (vt.Style{}) {
		return "\x1b[m"
	}
	b := []byte("\x1b[0")
	for _, f := range []struct {
		on   bool
		code string
	}{
		{s.Bold, ";1"}, {s.Faint, ";2"}, {s.Italic, ";3"}, {s.Blink, ";5"}, {s.Inverse, ";7"},
		{s.Conceal, ";8"}, {s.Strike, ";9"}, {s.Overline, ";53"},
	} {
		if f.on {
			b = append(b, f.code...)
		}
	}
	switch {
	case s.Underline == 1:
		b = append(b, ";4"...)
	case s.Underline > 1:
		b = fmt.Appendf(b, ";4:%d", s.Underline)
	}
	b = appendColor(b, "38", s.FG)
	b = appendColor(b, "48", s.BG)
	b = appendColor(b, "58", s.UnderlineColor)
	return string(append(b, 'm'))
}

// appendColor appends a colour: an index or #rrggbb.
func appendColor(b []byte, target string, c vt.Color) []byte {
	var red, green, blue, index int
	if n, _ := fmt.Sscanf(string(c), "#%02x%02x%02x", &red, &green, &blue); n == 3 {
		return fmt.Appendf(b, ";%s;2;%d;%d;%d", target, red, green, blue)
	}
	if n, _ := fmt.Sscanf(string(c), "%d", &index); n == 1 {
		return fmt.Appendf(b, ";%s;5;%d", target, index)
	}
	return b
}

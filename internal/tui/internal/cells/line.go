package cells

import (
	"unicode/utf8"

	"gascity.dev/gc/vt"
)

// Span is which columns of a screen's row are shown, and how.
type Span struct {
	From, Cols int
	Cursor     int    // the column with the cursor; -1: none
	Reverse    bool   // foreground and background are swapped
	Mark       []Mark // parts of the row to point out, in order
}

// Mark is a part of a row.
type Mark struct {
	From, To int // columns
	Look     Look
}

// Line adds a row of a screen.
func (r *Row) Line(c *Colours, l vt.Line, s Span) {
	w := lineWriter{row: r, span: s, start: r.cols}
	for _, run := range l.Runs {
		w.base = c.Look(run.Style)
		w.run(run)
	}
	w.base = ""
	if s.Cursor >= w.at && s.Cursor < s.From+s.Cols {
		w.blanksTo(s.Cursor)
		w.put(" ", 1)
	}
	if s.Reverse {
		w.blanksTo(s.From + s.Cols)
	}
	if w.uneven {
		r.place()
	}
}

// lineWriter adds the cells of one row.
type lineWriter struct {
	row    *Row
	span   Span
	start  int // the row's column of the first cell
	at     int // the next column of the screen's row
	base   Look
	uneven bool // the last character may have another width in the person's terminal
}

func (w *lineWriter) run(run vt.Run) {
	points := 0
	for at := 0; at < len(run.Text); {
		_, n := utf8.DecodeRuneInString(run.Text[at:])
		end, cols := at+n, digit(run.Columns, points)
		points++
		for end < len(run.Text) && points < len(run.Columns) && run.Columns[points] == '0' {
			_, n = utf8.DecodeRuneInString(run.Text[end:])
			end, points = end+n, points+1
		}
		w.character(run.Text[at:end], cols)
		at = end
	}
}

func digit(columns string, i int) int {
	if i < len(columns) {
		return int(columns[i] - '0')
	}
	return 1
}

// character adds one character if the span has it.
func (w *lineWriter) character(text string, cols int) {
	from, to := w.span.From, w.span.From+w.span.Cols
	switch {
	case cols == 0: // nothing to stand on
	case w.at+cols <= from || w.at >= to:
		w.at += cols
	case w.at < from || w.at+cols > to: // half of a wide one
		for range cols {
			if w.at >= from && w.at < to {
				w.put(" ", 1)
			} else {
				w.at++
			}
		}
	default:
		w.put(harmless(text, cols), cols)
	}
}

// harmless returns a character without what a terminal obeys.
func harmless(text string, cols int) string {
	if len(text) == 1 && text[0] >= 0x20 && text[0] < 0x7f {
		return text
	}
	bad := false
	for _, r := range text {
		bad = bad || hostile(r) || r == utf8.RuneError
	}
	if !bad {
		return text
	}
	var kept []rune
	for _, r := range text {
		if !hostile(r) {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		return "  "[:min(cols, 2)]
	}
	return string(kept)
}

// put adds a character at the current column.
func (w *lineWriter) put(text string, cols int) {
	if w.uneven {
		w.row.place()
		w.uneven = false
	}
	w.row.setLook(w.look())
	w.row.buf = append(w.row.buf, text...)
	w.at += cols
	w.row.cols = w.start + w.at - w.span.From
	if len(text) > 1 && (cols > 1 || utf8.RuneCountInString(text) > 1) && text != "  " {
		w.uneven, w.row.wide = true, true
	}
}

// look is that of the current column.
func (w *lineWriter) look() Look {
	l := w.base
	for _, m := range w.span.Mark {
		if w.at >= m.From && w.at < m.To {
			l = join(l, m.Look)
		}
	}
	if (w.at == w.span.Cursor) != w.span.Reverse {
		l = reverse(l)
	}
	return l
}

func join(a, b Look) Look {
	if a == "" || b == "" {
		return a + b
	}
	return a + ";" + b
}

// reverse swaps foreground and background; of what is swapped already, it swaps them back.
func reverse(l Look) Look {
	kept, was := Look(""), false
	for part := range splitLook(l) {
		if part == "7" {
			was = true
			continue
		}
		kept = join(kept, part)
	}
	if was {
		return kept
	}
	return join(kept, "7")
}

// splitLook yields the parts of a look; a colour of several parameters is one part.
func splitLook(l Look) func(yield func(Look) bool) {
	return func(yield func(Look) bool) {
		for len(l) > 0 {
			n := paramLen(l)
			if !yield(l[:n]) {
				return
			}
			l = l[min(n+1, len(l)):]
		}
	}
}

// paramLen returns how long the first attribute of a look is.
func paramLen(l Look) int {
	params := 1
	switch {
	case len(l) > 4 && (l[:4] == "38;5" || l[:4] == "48;5"):
		params = 3
	case len(l) > 4 && (l[:4] == "38;2" || l[:4] == "48;2"):
		params = 5
	}
	for i := range len(l) {
		if l[i] == ';' {
			if params--; params == 0 {
				return i
			}
		}
	}
	return len(l)
}

// blanksTo fills up to a column of the screen's row.
func (w *lineWriter) blanksTo(col int) {
	w.at = max(w.at, w.span.From)
	for w.at < col {
		w.put(" ", 1)
	}
}

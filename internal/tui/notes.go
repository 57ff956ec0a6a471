package tui

import (
	"gascity.dev/gc/internal/tui/internal/cells"
)

// note is one line about what was done. A sticky one stays until it is dismissed, another
// one until the next key.
type note struct {
	text        string
	sticky, bad bool
}

// maxNotes is how many are shown at once; the person sees the oldest ones first.
const maxNotes = 3

func (m *model) note(text string, sticky, bad bool) {
	m.notes = append(m.notes, note{text, sticky, bad})
}

// done notes the outcome of something.
func (m *model) done(d doneMsg) {
	switch {
	case d.err != nil:
		m.note(d.err.Error(), true, true)
	case d.text != "":
		m.note(d.text, d.sticky, d.bad)
	}
}

// passNotes forgets those that stay only until the next key.
func (m *model) passNotes() {
	kept := m.notes[:0]
	for _, n := range m.notes {
		if n.sticky {
			kept = append(kept, n)
		}
	}
	m.notes = kept
}

func (m *model) drawNotes(cols int) []cells.Row {
	var rows []cells.Row
	for i, n := range m.notes[:min(len(m.notes), maxNotes)] {
		var r cells.Row
		look := m.theme.good
		if n.bad {
			look = m.theme.bad
		}
		end := ""
		if n.sticky && i == 0 {
			end = " esc dismisses"
		}
		if left := len(m.notes) - maxNotes; i == maxNotes-1 && left > 0 {
			end = " and more" + end
		}
		r.Put(look, n.text, cols-len(end))
		r.Put(m.theme.dim, end, cols-r.Cols())
		rows = append(rows, r)
	}
	return rows
}

package copymode

import (
	"unicode"
	"unicode/utf8"
)

// kinds of characters, as vi's words have them.
const (
	blank = iota
	wordly
	other
)

// kindAt returns the kind of the character at a place; the end of a line is blank.
func (m *Model) kindAt(p pos) int {
	l := m.line(p.line)
	if p.at >= len(l.glyphs) {
		return blank
	}
	switch r, _ := utf8.DecodeRuneInString(l.glyphs[p.at].text); {
	case unicode.IsSpace(r):
		return blank
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
		return wordly
	}
	return other
}

// step moves the cursor by one character; false at the end. crossed: into another line.
func (m *Model) step(n int) (ok, crossed bool) {
	was := m.cursor
	m.horizontal(n)
	return m.cursor != was, m.cursor.line != was.line
}

// maxWordLines bounds how far a word may be.
const maxWordLines = 200

// wordForward moves to the beginning of the next word.
func (m *Model) wordForward() {
	kind, start := m.kindAt(m.cursor), m.cursor.line
	for {
		ok, crossed := m.step(1)
		now := m.kindAt(m.cursor)
		if !ok || now != blank && (now != kind || crossed) || m.cursor.line > start+maxWordLines {
			return
		}
		kind = now
	}
}

// wordEnd moves to the end of a word.
func (m *Model) wordEnd() {
	start := m.cursor.line
	for ok := true; ok && m.cursor.line <= start+maxWordLines; {
		ok, _ = m.step(1)
		if m.kindAt(m.cursor) != blank && m.atEdge(1) {
			return
		}
	}
}

// wordBack moves to the beginning of a word.
func (m *Model) wordBack() {
	start := m.cursor.line
	for ok := true; ok && m.cursor.line+maxWordLines >= start; {
		ok, _ = m.step(-1)
		if m.kindAt(m.cursor) != blank && m.atEdge(-1) {
			return
		}
	}
}

// atEdge reports whether a word ends at the cursor in a direction.
func (m *Model) atEdge(n int) bool {
	next := pos{m.cursor.line, m.cursor.at + n}
	return next.at < 0 || m.kindAt(next) != m.kindAt(m.cursor)
}

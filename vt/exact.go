package vt

import (
	"bytes"
	"strings"

	"gascity.dev/gc/vt/internal/char"
)

// A program may change the width policy (mode 2027) at any time, and what was
// drawn stays. So the screen can hold a character that would come out
// differently if its text were written again: of another width, in several
// cells, or joined to the previous one. The same is true of what REP wrote.
// From then on the history stores every character on which the policies
// disagree in a form that includes its width, and a dump writes it, if nothing
// else works, with a private command: OSC 2027 ; columns ; text. A j after the
// columns lets the next character join it, as it would join any other.
//
// That form is exactMark, a digit with the columns, a byte with the length of
// the text, the text.

// exactMark never occurs in text: it is a control character.
const exactMark = 0x01

const exactHead = 3 // bytes before the text

// appendExact appends a character with its columns.
func appendExact(dst, text []byte, width int) []byte {
	return append(append(dst, exactMark, byte('0'+width), byte(len(text))), text...)
}

// readExact returns the text of an exact character at the start of b, its width
// and its length in bytes; n is 0 for any other.
func readExact(b []byte) (text []byte, width, n int) {
	if len(b) <= exactHead || b[0] != exactMark {
		return nil, 0, 0
	}
	n = min(exactHead+int(b[2]), len(b))
	return b[exactHead:n], int(b[1]-'0') & 3, n
}

// inexact returns text in the form for readers.
func inexact(text []byte) []byte {
	if bytes.IndexByte(text, exactMark) < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		i := bytes.IndexByte(text, exactMark)
		if i < 0 {
			break
		}
		out = append(out, text[:i]...)
		shown, _, n := readExact(text[i:])
		if n == 0 {
			return out
		}
		out, text = append(out, shown...), text[i+n:]
	}
	return append(out, text...)
}

// agreed reports whether both policies make the same cell of a character,
// whatever precedes it.
func agreed(c cell) bool {
	r := rune(c & cellRune)
	if c&cellCluster != 0 {
		return false
	}
	if r < 0x80 {
		return true
	}
	width := 1
	if c.isWide() {
		width = 2
	}
	p := char.Of(r)
	return p.Class() == char.Other && p.Width() == width && p.Wcwidth() == width
}

// addExactCells is addCells after the policy has changed.
func (o *openLine) addExactCells(t *Terminal, cells []cell, x int, attr cell) int {
	for ; x < len(cells) && cells[x]&cellAttr == attr; x++ {
		c := cells[x]
		if agreed(c) || c&cellContent == 0 || c.isTail() {
			o.addCell(t, cells, x)
			continue
		}
		width := 1
		if c.isWide() {
			width = 2
			o.flags |= lineWide
		}
		o.flags &^= linePlain
		o.text = appendExact(o.text, appendContent(nil, t, c), width)
	}
	return x
}

// oscExact is our OSC 2027: a character of the given width.
func (t *Terminal) oscExact(text string) {
	how, text, ok := strings.Cut(text, ";")
	columns, join := strings.CutSuffix(how, "j")
	if !ok || columns != "1" && columns != "2" {
		return
	}
	b := []byte(plainText(text))
	if len(b) == 0 || len(b) > maxClusterBytes+utf8Max {
		return
	}
	t.mixed = true
	r, n := decode(b)
	content := cell(r)
	if n < len(b) {
		content = t.clusterCell(b)
	}
	t.put(content, int(columns[0]-'0'))
	t.last.join, t.last.gr = join, grState(b)
}

const utf8Max = 4

// exact writes a character with its width.
func (p *painter) exact(text []byte, wide, join bool) {
	columns := "1"
	if wide {
		columns = "2"
	}
	if join {
		columns += "j"
	}
	p.str("\x1b]2027;" + columns + ";" + string(text) + "\x1b\\")
}

// leftText is the text of the cell to the left of column x.
func (t *Terminal) leftText(s *screen, x, y int) []byte {
	x--
	if x > 0 && s.view(y).at(x).isTail() {
		x--
	}
	if x < 0 {
		return nil
	}
	return appendContent(nil, t, s.view(y).at(x))
}

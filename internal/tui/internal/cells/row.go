package cells

import (
	"strconv"
	"unicode/utf8"
)

// Look is how text is shown: parameters of SGR (ECMA-48 8.3.117), such as "1;33"; "" is the
// terminal's own.
type Look string

// Row is one row of a picture, from its first column on. The zero value is empty.
type Row struct {
	// Base is the look that every other one is added to, such as that of a selection.
	Base Look

	buf  []byte
	cols int
	look Look
	set  bool // a look is set
	wide bool // it has characters that terminals measure differently
	left int  // the terminal's column of the row's first, to place what follows such
}

// At returns a row that begins at a column of the terminal.
func At(left int) Row { return Row{left: left} }

// Cols returns how many columns the row has so far.
func (r *Row) Cols() int { return r.cols }

// Bytes returns the row for the terminal. It ends in the terminal's own look.
func (r *Row) Bytes() []byte {
	r.setLook("")
	return r.buf
}

// String is Bytes as a string.
func (r *Row) String() string { return string(r.Bytes()) }

func (r *Row) setLook(l Look) {
	if l != "" && r.Base != "" {
		l = r.Base + ";" + l
	} else if l == "" {
		l = r.Base
	}
	if l == r.look && (r.set || l == "") {
		return
	}
	r.look, r.set = l, true
	r.buf = append(r.buf, "\x1b[0"...)
	if l != "" {
		r.buf = append(r.buf, ';')
	}
	r.buf = append(r.buf, l...)
	r.buf = append(r.buf, 'm')
}

// Put adds a text of a program or a person, at most so many columns of it.
func (r *Row) Put(l Look, text string, cols int) {
	text, used := Cut(Clean(text), cols)
	if text == "" {
		return
	}
	r.setLook(l)
	r.buf = append(r.buf, text...)
	r.cols += used
	if used != len(text) {
		r.wide = r.wide || used != utf8.RuneCountInString(text)
		r.place()
	}
}

// Add adds a text of ours.
func (r *Row) Add(l Look, text string) { r.Put(l, text, 1<<20) }

// To fills the row with blanks up to a column.
func (r *Row) To(col int) {
	if r.cols >= col {
		return
	}
	r.setLook("")
	for ; r.cols < col; r.cols++ {
		r.buf = append(r.buf, ' ')
	}
}

// Fill is To in a look.
func (r *Row) Fill(l Look, col int) {
	if r.cols >= col {
		return
	}
	r.setLook(l)
	for ; r.cols < col; r.cols++ {
		r.buf = append(r.buf, ' ')
	}
}

// place moves the terminal's cursor to where the row is (CHA, ECMA-48 8.3.9): the terminal
// may find that a character has another width.
func (r *Row) place() {
	r.buf = append(r.buf, "\x1b["...)
	r.buf = strconv.AppendInt(r.buf, int64(r.left+r.cols+1), 10)
	r.buf = append(r.buf, 'G')
}

// Join adds another row at a column that is not before the end of this one.
func (r *Row) Join(col int, other *Row) {
	r.To(col)
	r.setLook("")
	r.buf = append(r.buf, other.Bytes()...)
	r.cols, r.wide = col+other.cols, r.wide || other.wide
	r.look, r.set = "", true
}

// Uneven reports whether terminals may disagree about the widths of the row.
func (r *Row) Uneven() bool { return r.wide }

// Package terminal is the person's terminal: its modes, and the picture on it.
//
// It writes only what changed, and nothing at all while nothing does. Everything that Enter
// sets, Leave takes back; both may be called again and again. One goroutine uses a Terminal.
package terminal

import (
	"os"
	"strconv"

	"golang.org/x/term"
)

// Terminal is a terminal in its two states: left, as the person's shell had it, and entered.
type Terminal struct {
	In, Out *os.File
	Mouse   bool // it reports clicks and the wheel

	before  *term.State
	entered bool
	shown   Picture
	whole   bool // shown is what the terminal has
	buf     []byte
}

// Picture is what a terminal shows.
type Picture struct {
	Rows   []Row
	Cols   int
	Cursor Cursor
	Title  string
}

// Row is one row of a picture, as bytes that move the cursor to no other row.
type Row struct {
	Bytes string
	Cols  int
	// Uneven says that terminals may disagree about the widths of its characters.
	Uneven bool
}

// Cursor is where the terminal's own cursor is shown, if it is.
type Cursor struct {
	Shown    bool
	Row, Col int
}

// What Enter sets and Leave resets: the alternate screen (1049) without its scrolling by the
// wheel, no cursor, no wrapping, bracketed paste, keys that can be told apart (kitty), and the
// mouse.
const (
	enter      = "\x1b[?1049h\x1b[22;2t\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[>1u\x1b[0m\x1b[2J"
	enterMouse = "\x1b[?1000h\x1b[?1006h"
	leave      = "\x1b[?1006l\x1b[?1000l\x1b[<u\x1b[?2004l\x1b[?7h\x1b[0m\x1b[2J\x1b[H\x1b[?25h\x1b[23;2t\x1b[?1049l"
)

// Enter puts the terminal in raw mode and empties it.
func (t *Terminal) Enter() error {
	if t.entered {
		return nil
	}
	before, err := term.MakeRaw(int(t.In.Fd()))
	if err != nil {
		return err
	}
	t.before, t.entered, t.whole = before, true, false
	t.buf = append(t.buf[:0], enter...)
	if t.Mouse {
		t.buf = append(t.buf, enterMouse...)
	}
	return t.flush()
}

// Leave gives the terminal back as it was.
func (t *Terminal) Leave() error {
	if !t.entered {
		return nil
	}
	t.entered = false
	t.buf = append(t.buf[:0], leave...)
	err := t.flush()
	if restored := term.Restore(int(t.In.Fd()), t.before); err == nil {
		err = restored
	}
	return err
}

// Restore gives a terminal back that a process entered which has ended without Leave.
func Restore(in, out *os.File, before *term.State) error {
	t := Terminal{In: in, Out: out, before: before, entered: true}
	return t.Leave()
}

// Size returns the columns and rows of the terminal, or what programs assume of one that
// does not say.
func (t *Terminal) Size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(t.Out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// Forget makes the next Paint write everything: somebody else wrote to the terminal.
func (t *Terminal) Forget() { t.whole = false }

// Tell writes a sequence that shows nothing, such as a notification.
func (t *Terminal) Tell(sequence []byte) error {
	t.buf = append(t.buf[:0], sequence...)
	return t.flush()
}

// Paint shows a picture. It reports whether anything had to be written.
func (t *Terminal) Paint(p Picture) (wrote bool, err error) {
	if !t.entered {
		return false, nil
	}
	all := !t.whole || p.Cols != t.shown.Cols || len(p.Rows) != len(t.shown.Rows)
	const begin = "\x1b[?2026h\x1b[?25l" // a synchronized update without a cursor
	t.buf = append(t.buf[:0], begin...)
	if all {
		t.buf = append(t.buf, "\x1b[0m\x1b[2J"...)
	}
	for y, row := range p.Rows {
		if !all && t.shown.Rows[y] == row {
			continue
		}
		t.row(y, row, p.Cols)
	}
	if all || p.Title != t.shown.Title {
		t.buf = append(t.buf, "\x1b]2;"...)
		t.buf = append(t.buf, p.Title...)
		t.buf = append(t.buf, "\x1b\\"...)
	}
	if len(t.buf) == len(begin) && p.Cursor == t.shown.Cursor {
		return false, nil
	}
	if p.Cursor.Shown {
		t.move(p.Cursor.Row, p.Cursor.Col)
		t.buf = append(t.buf, "\x1b[?25h"...)
	}
	t.buf = append(t.buf, "\x1b[?2026l"...)
	t.shown, t.whole = p, true
	return true, t.flush()
}

// row writes one row and erases what is behind it.
func (t *Terminal) row(y int, row Row, cols int) {
	t.move(y, 0)
	if row.Uneven {
		t.buf = append(t.buf, "\x1b[2K"...)
	}
	t.buf = append(t.buf, row.Bytes...)
	t.buf = append(t.buf, "\x1b[0m"...)
	if row.Cols < cols { // else the cursor is still on the last character
		t.buf = append(t.buf, "\x1b[K"...)
	}
}

// move is CUP (ECMA-48 8.3.21).
func (t *Terminal) move(row, col int) {
	t.buf = append(t.buf, "\x1b["...)
	t.buf = strconv.AppendInt(t.buf, int64(row+1), 10)
	t.buf = append(t.buf, ';')
	t.buf = strconv.AppendInt(t.buf, int64(col+1), 10)
	t.buf = append(t.buf, 'H')
}

func (t *Terminal) flush() error {
	_, err := t.Out.Write(t.buf)
	return err
}

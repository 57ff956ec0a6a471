package display

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// ProgressTick is how often callers refresh a progress line.
const ProgressTick = 500 * time.Millisecond

// Progress is one line on a person's terminal that says what a command waits
// for. On anything but a terminal it writes nothing.
type Progress struct {
	w     io.Writer
	fd    int // -1: not a terminal
	shown bool
}

// NewProgress returns the progress line of w.
func NewProgress(w io.Writer) *Progress {
	p := &Progress{w: w, fd: -1}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.fd = int(f.Fd())
	}
	return p
}

// Visible reports whether Show has an effect.
func (p *Progress) Visible() bool { return p.fd >= 0 }

// Show replaces the line; "" clears it. The text is cut to the terminal's width.
func (p *Progress) Show(text string) {
	if !p.Visible() {
		return
	}
	cols, _, err := term.GetSize(p.fd)
	if err != nil || cols < 2 {
		cols = 80
	}
	fmt.Fprint(p.w, "\r\x1b[K"+Cut(Line(text), cols-1))
	p.shown = text != ""
}

// Clear removes the line.
func (p *Progress) Clear() {
	if p.shown {
		p.Show("")
	}
}

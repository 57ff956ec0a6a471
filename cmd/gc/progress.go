package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progressTick is how often a progress line is written anew.
const progressTick = 500 * time.Millisecond

// progress is one line on a person's terminal that says what a command waits
// for. Elsewhere it writes nothing.
type progress struct {
	w     io.Writer
	fd    int // -1: not a terminal
	stood bool
}

// progress returns the line of standard error.
func (a *app) progress() *progress {
	p := &progress{w: a.err, fd: -1}
	if f, ok := a.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.fd = int(f.Fd())
	}
	return p
}

// shown reports whether anybody sees the line.
func (p *progress) shown() bool { return p.fd >= 0 }

// show replaces the line; "" clears it. The text is cut to the terminal's width.
func (p *progress) show(text string) {
	if !p.shown() {
		return
	}
	cols, _, err := term.GetSize(p.fd)
	if err != nil || cols < 2 {
		cols = 80
	}
	fmt.Fprint(p.w, "\r\x1b[K"+cut(cleanLine(text), cols-1))
	p.stood = text != ""
}

func (p *progress) clear() {
	if p.stood {
		p.show("")
	}
}

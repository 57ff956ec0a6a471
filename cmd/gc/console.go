package main

import (
	"encoding/json"
	"io"
	"os"

	"golang.org/x/term"
)

// stdio is the three streams of a command.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// console is the streams of a command, and how it prints on them.
type console struct {
	stdio
	color colorMode // --color
	cols  int       // width of the terminal if out is not a file
	words []string  // that may name the command to build: see addTo
}

// newConsole returns the console of a command line.
func newConsole(s stdio, args []string) console {
	return console{stdio: s, words: commandWords(args)}
}

// printJSON writes v as indented JSON.
func (c *console) printJSON(v any) error {
	e := json.NewEncoder(c.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// width is the number of columns of the terminal on standard output, or 0.
func (c *console) width() int {
	f, ok := c.out.(*os.File)
	if !ok {
		return c.cols
	}
	cols, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cols
}

// height is the number of rows of the terminal on standard output, or 0.
func (c *console) height() int {
	f, ok := c.out.(*os.File)
	if !ok {
		return 0
	}
	_, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return rows
}

// interactive reports whether standard input is a terminal.
func (c *console) interactive() bool {
	f, ok := c.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

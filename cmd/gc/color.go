package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// colorMode is the value of --color.
type colorMode string

const (
	colorAuto   colorMode = "auto" // on a terminal, without NO_COLOR
	colorAlways colorMode = "always"
	colorNever  colorMode = "never"
)

// Set implements pflag.Value.
func (m *colorMode) Set(s string) error {
	switch c := colorMode(s); c {
	case colorAuto, colorAlways, colorNever:
		*m = c
		return nil
	}
	return fmt.Errorf("want auto, always or never")
}

func (m *colorMode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *colorMode) Type() string { return "WHEN" }

// colours reports whether text written to w may be coloured. NO_COLOR is that of
// https://no-color.org.
func (a *app) colours(w io.Writer) bool {
	switch a.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

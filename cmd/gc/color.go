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

// A colour is the parameters of SGR, ECMA-48 8.3.117; "" is none.
type colour string

const (
	plain  colour = ""
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	dim    colour = "2"
	bold   colour = "1"
)

// nameColours tell sources of merged lines apart: none of them is red.
var nameColours = []colour{"36", "33", "32", "35", "34", "96", "93", "92", "95", "94"}

// paint colours text that holds no control characters.
func (c colour) paint(text string) string {
	if c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

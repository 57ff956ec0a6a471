package tui

import "github.com/charmbracelet/x/ansi"

// plain is what a part of Bubbles drew, as text: it is shown in the terminal's own look.
func plain(s string) string { return ansi.Strip(s) }

package server

import (
	"strings"
	"testing"
)

func TestTerminalName(t *testing.T) {
	for dev, want := range map[uint64]string{
		0x8803:   "pts/3",   // 136:3
		0x89ff:   "pts/511", // 137:255
		0x108803: "pts/259", // 136:259
		0x0401:   "tty",     // 4:1, a console
	} {
		if got := terminalName(dev); got != want {
			t.Errorf("%#x: %s, want %s", dev, got, want)
		}
	}
}

func TestExcerptIsOneShortLineOfText(t *testing.T) {
	for text, want := range map[string]string{
		"\n\nfix it\nnow":                         "fix it",
		strings.Repeat("x", 300):                  strings.Repeat("x", excerptBytes),
		strings.Repeat("x", excerptBytes-1) + "é": strings.Repeat("x", excerptBytes-1),
	} {
		if got := excerpt(text); got != want {
			t.Errorf("%.20q: %q", text, got)
		}
	}
}

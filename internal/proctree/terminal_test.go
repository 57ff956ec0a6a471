package proctree

import "testing"

func TestTerminal(t *testing.T) {
	for dev, want := range map[uint64]string{
		0:        "",
		0x8803:   "pts/3",   // 136:3
		0x89ff:   "pts/511", // 137:255
		0x108803: "pts/259", // 136:259
		0x0401:   "tty",     // 4:1, a console
	} {
		if got := (Proc{TTY: dev}).Terminal(); got != want {
			t.Errorf("%#x: %s, want %s", dev, got, want)
		}
	}
}

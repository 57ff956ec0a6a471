package vt_test

import (
	"testing"

	"gascity.dev/gc/vt"
)

// TestPackKeepsString: a control string begun before the screens are packed
// continues afterwards.
func TestPackKeepsString(t *testing.T) {
	for _, end := range []string{"\a", "\x1b\\"} {
		for cut := range len("\x1b]2;title" + end) {
			input := "\x1b]2;title" + end
			term := mustNew(t, vt.Options{})
			term.Write([]byte("text" + input[:cut]))
			term.Pack()
			term.Write([]byte(input[cut:]))
			if got := term.Title(); got != "title" {
				t.Errorf("packed after %q: title %q", input[:cut], got)
			}
			if got := term.Line(0); got != "text" {
				t.Errorf("packed after %q: row 0 %q", input[:cut], got)
			}
		}
	}
}

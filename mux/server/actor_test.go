package server

import (
	"strings"
	"testing"
)

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

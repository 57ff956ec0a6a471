package rule_test

import (
	"testing"

	"gascity.dev/gc/internal/rule"
)

func TestIsPrompt(t *testing.T) {
	for _, tt := range []struct {
		line, prefix string
		want         bool
	}{
		{"❯ write here", "❯ ", true}, {"│ > │", "> ", true}, {" ❯", "❯ ", true}, {"quoted ❯ x", "❯ ", false},
		{"┃", "┃", true}, {"   ┃  Ask anything", "┃", true}, {"╹▀▀▀", "┃", false}, {"text ┃", "┃", false}, {"", "┃", false},
		{"", "", true}, {"x", "", true},
		{" *   Type your message or @path/to/file", "* ", true}, {" > said before", "* ", false}, {" *", "* ", true},
	} {
		if got := rule.IsPrompt(tt.line, tt.prefix); got != tt.want {
			t.Errorf("IsPrompt(%q, %q) = %v", tt.line, tt.prefix, got)
		}
	}
}

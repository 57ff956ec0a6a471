package exec

import "testing"

func TestSubmittedOnScreen(t *testing.T) {
	box := func(text string) string {
		return "welcome\n╭──────╮\n│ > " + text + " │\n╰──────╯\n  ? for shortcuts"
	}
	for _, tt := range []struct {
		name, before, after, text, prefix string
		want                              bool
	}{
		{"nothing shown", "ask>", "ask>", "hello", "", false},
		{"typed at a shell", "$", "$ make all", "make all", "", false},
		{"a shell's command without output", "$", "$ make all\n$", "make all", "", true},
		{"a shell's command with output", "$", "$ make all\ndone", "make all", "", true},
		{"echo and answer", "", "hello\nhello", "hello", "", true},
		{"echo alone", "", "hello", "hello", "", false},
		{"it stood there before", "hello\n$", "hello\n$", "hello", "", false},
		{"a reader that answered", "ask>", "ask> hello\nyou said hello\nask>", "hello", "ask> ", true},
		{"a reader that works", "ask>", "ask> hello\nworking", "hello", "ask> ", false},
		{"a draft in a frame", box(""), box("hello"), "hello", "", false},
		{"a draft in a frame, status changed", box(""), box("hello") + " 2%", "hello", "> ", false},
		{"taken from a frame", box(""), "> hello\n\n* Thinking\n" + box(""), "hello", "> ", true},
		{"wrapped", "ask>", "ask> a message that\n is wrapped\nok\nask>", "a message that is wrapped", "ask> ", true},
		{"several lines, drafted", box(""), "│ > one  │\n│   two  │\n╰──────╯\n  ? for shortcuts", "one\ntwo", "> ", false},
	} {
		if got := submitted(tt.before, tt.after, tt.text, tt.prefix); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

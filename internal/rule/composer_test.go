package rule

import (
	"slices"
	"strings"
	"testing"
)

func TestComposerPlain(t *testing.T) {
	c := Composer{Commands: []string{"!", "/"}, Words: []string{"exit"}, Openers: []string{"@", `\`}, Mark: "⠀"}
	for _, tt := range []struct{ text, want, changed string }{
		{"run the tests", "run the tests", ""},
		{"", "", ""},
		{"a\n!b\n/c", "a\n!b\n/c", ""},
		{"!echo hi", "⠀!echo hi", "!echo is a command"},
		{" /clear now", "⠀ /clear now", "/clear is a command"},
		{"\n/clear", "⠀\n/clear", "/clear is a command"},
		{"Exit", "⠀Exit", "Exit is a command"},
		{"exit the loop", "exit the loop", ""},
		{"look at @main.go", "look at @main.go ", "@main.go takes Enter"},
		{"look at @main.go first", "look at @main.go first", ""},
		{`one \`, `one \ `, `\ takes Enter`},
		{"!cat @x", "⠀!cat @x ", "; a blank was put behind: @x"},
		{"/" + strings.Repeat("x", 40), "⠀/" + strings.Repeat("x", 40), "/" + strings.Repeat("x", 19) + "… is"},
	} {
		got, changed := c.Plain(tt.text)
		if got != tt.want || (changed == "") != (tt.changed == "") || !strings.Contains(changed, tt.changed) {
			t.Errorf("Plain(%q) = %q, %q; want %q, %q", tt.text, got, changed, tt.want, tt.changed)
		}
	}
	none := Composer{}
	if got, changed := none.Plain("!x @"); got != "!x @" || changed != "" {
		t.Errorf("without data: %q, %q", got, changed)
	}
	blank := Composer{Commands: []string{"!"}}
	if got, _ := blank.Plain("!x"); got != " !x" {
		t.Errorf("without a mark: %q", got)
	}
}

func TestComposerClear(t *testing.T) {
	c := Composer{Clear: []string{"C-u", "C-k"}}
	if got := c.ClearKeys(1); !slices.Equal(got, []string{"C-u", "C-k", "C-u", "C-k", "C-u", "C-k"}) {
		t.Errorf("one line: %v", got)
	}
	if got := (&Composer{}).ClearKeys(3); got != nil {
		t.Errorf("not known how, but %v", got)
	}
}

func TestDraft(t *testing.T) {
	for name, c := range map[string]struct {
		screen, want string
		ok           bool
	}{
		"empty":        {"> said before\n────────\n>\n────────\n  status", "", true},
		"a text":       {"> said before\n▄▄▄▄▄▄▄▄\n > a text\n▀▀▀▀▀▀▀▀\n  status", "a text", true},
		"two lines":    {"╭────────╮\n│ > one  │\n│   two  │\n╰────────╯\nstatus", "one\n  two", true},
		"not in sight": {"$ make\nall good", "", false},
	} {
		s := TextView(c.screen)
		s.Ready = "> "
		if got, ok := s.Draft(); ok != c.ok || strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

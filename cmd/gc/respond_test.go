package main

import "testing"

func TestChooseOption(t *testing.T) {
	codex := []string{"Allow", "Allow for this session", "Always allow", "Cancel this tool call"}
	for _, c := range []struct {
		options    []string
		want, take string // take "" is a refusal
	}{
		{codex, "Allow", "Allow"},
		{codex, "allow", "Allow"},
		{codex, "allow for", "Allow for this session"},
		{codex, "Al", ""},
		{codex, "4", "Cancel this tool call"},
		{codex, "5", ""},
		{codex, "0", ""},
		{codex, "", ""},
		{codex, "Allow it", ""},
		{[]string{"10 minutes", "1 hour"}, "1", ""}, // a number or a beginning
		{[]string{"10 minutes", "1 hour"}, "2", "1 hour"},
		{[]string{"2", "1"}, "2", "2"}, // a label goes before a number
		{[]string{"yes", "Yes"}, "Yes", "Yes"},
		{[]string{"yes", "Yes"}, "YES", ""},
		{[]string{"Yes", "Yes", "No"}, "Yes", ""}, // twice the same
		{[]string{"Yes", "Yes", "No"}, "2", ""},
		{nil, "Yes", ""},
		{[]string{"\u212a\u212a\u212a"}, "k", ""}, // KELVIN SIGN is longer than what it folds to
	} {
		got, err := chooseOption(c.options, c.want)
		if got != c.take || (err == nil) != (c.take != "") {
			t.Errorf("%q of %q: %q, %v", c.want, c.options, got, err)
		}
	}
}

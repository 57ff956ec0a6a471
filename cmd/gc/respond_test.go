package main

import (
	"testing"

	"gascity.dev/gc/runtime"
)

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

// A hint never names an option that lasts while another one does not.
func TestSuggestedOption(t *testing.T) {
	kinds := map[string]string{"option.Always": "allow_always", "option.Yes": "allow_once", "option.No": "reject_once"}
	for want, q := range map[string]*runtime.Interaction{
		"Yes":    {Options: []string{"Always", "No", "Yes"}, Metadata: kinds},
		"No":     {Options: []string{"Always", "No"}, Metadata: kinds},
		"Always": {Options: []string{"Always"}, Metadata: kinds},
		"Red":    {Options: []string{"Red", "Blue"}},
	} {
		if got := suggested(q); got != want {
			t.Errorf("%q: %q, want %q", q.Options, got, want)
		}
	}
}

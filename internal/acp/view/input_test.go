package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/view"
)

var twoOptions = &conversation.Question{ID: "7-1", Kind: "permission", Title: "touch a", Options: []conversation.Option{
	{ID: "p", Label: "Always", Kind: "allow_always"}, {ID: "q", Label: "Yes", Kind: "allow_once"}, {ID: "r", Label: "No", Kind: "reject_once"},
}}

var frames = map[string]view.Frame{
	"idle":     {State: "idle", Commands: []conversation.Choice{{ID: "compact", Description: "shorten"}, {ID: "compare"}, {Name: "/help"}}},
	"question": {State: "blocked", Question: twoOptions},
	"text":     {State: "blocked", Question: &conversation.Question{ID: "7-2", Kind: "question", Title: "Which?", Text: true}},
	"both": {State: "blocked", Question: &conversation.Question{ID: "7-3", Kind: "question", Title: "Which?", Text: true,
		Options: []conversation.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}}},
}

func TestTyping(t *testing.T) {
	for _, c := range []struct {
		name, frame, keys string
		want              []view.Action
	}{
		{"a line", "idle", "hello\r", []view.Action{view.Prompt{"hello"}}},
		{"two lines", "idle", "a\rb\r", []view.Action{view.Prompt{"a"}, view.Prompt{"b"}}},
		{"newline", "idle", "a\n", []view.Action{view.Prompt{"a"}}},
		{"a paste", "idle", "\x1b[200~a\tb\r\nc\rd\n\x1b[201~!\r", []view.Action{view.Prompt{"a\tb\nc\nd\n!"}}},
		{"controls in a paste", "idle", "\x1b[200~a\x03\x1b[Ab\u0085\x1b[201~\r", []view.Action{view.Prompt{"a[Ab"}}},
		{"nothing", "idle", "\r  \r\x1b[200~\n\x1b[201~\r", nil},
		{"characters", "idle", "é漢👩\u200d👧e\u0301\r", []view.Action{view.Prompt{"é漢👩\u200d👧e\u0301"}}},
		{"broken characters", "idle", "a\xffb\xe6\xbc\rc\xe6d\r", []view.Action{view.Prompt{"ab"}, view.Prompt{"cd"}}},
		{"backspace", "idle", "a漢👩\u200d👧\x7f\x7fb\r", []view.Action{view.Prompt{"ab"}}},
		{"left and right", "idle", "ac\x1b[Db\x1b[C\x1bOCd\r", []view.Action{view.Prompt{"abcd"}}},
		{"home and end", "idle", "b\x1b[Ha\x1b[Fc\x1b[1~\x1b[3~\x1b[4~d\r", []view.Action{view.Prompt{"bcd"}}},
		{"control keys", "idle", "b\x01a\x05c\x02\x02\x04\x06d\r", []view.Action{view.Prompt{"acd"}}},
		{"erase a line", "idle", "one\x15two\r", []view.Action{view.Prompt{"two"}}},
		{"erase to the end", "idle", "one two\x1b[D\x1b[D\x1b[D\x0bx\r", []view.Action{view.Prompt{"one x"}}},
		{"erase a word", "idle", "one  two  \x17x\r", []view.Action{view.Prompt{"one  x"}}},
		{"erase across lines", "idle", "\x1b[200~a\nb\x1b[201~\x15\x7fc\r", []view.Action{view.Prompt{"ac"}}},
		{"alt-enter", "idle", "a\x1b\rb\r", []view.Action{view.Prompt{"a\nb"}}},
		{"unknown keys", "idle", "a\x1b[15~\x1bOP\x1bx\x1b[1;5C\x1a\x0fb\r", []view.Action{view.Prompt{"ab"}}},
		{"replies of a terminal", "idle", "a\x1b[?1;2c\x1b]11;rgb:0/0/0\x1b\\b\r", []view.Action{view.Prompt{"ab"}}},
		{"interrupt", "idle", "ab\x03c\r", []view.Action{view.Cancel{}, view.Prompt{"abc"}}},
		{"never an end", "idle", "\x04\x1c\x1a\x11\x13", nil},

		{"one command", "idle", "/h\tme\r", []view.Action{view.Prompt{"/help me"}}},
		{"two commands", "idle", "/c\tc\t\r", []view.Action{view.Prompt{"/compact"}}},
		{"the rest", "idle", "/compac\t\r", []view.Action{view.Prompt{"/compact"}}},
		{"no command", "idle", "/x\t\ty\r", []view.Action{view.Prompt{"/xy"}}},
		{"no slash", "idle", "c\t\r", []view.Action{view.Prompt{"c"}}},

		{"a number", "question", "3", []view.Action{view.Answer{RequestID: "7-1", Label: "No"}}},
		{"a number of no option", "question", "4\r", []view.Action{view.Prompt{"4"}}},
		{"Enter", "question", "\r", []view.Action{view.Answer{RequestID: "7-1", Label: "Yes"}}},
		{"a line end of two bytes is one Enter", "question", "x\r\n", []view.Action{view.Prompt{"x"}}},
		{"down", "question", "\x1b[B\x1b[B\x1bOB\r", []view.Action{view.Answer{RequestID: "7-1", Label: "No"}}},
		{"up", "question", "\x1b[A\x1b[A\r", []view.Action{view.Answer{RequestID: "7-1", Label: "Always"}}},
		{"a number in a draft", "question", "x1\r", []view.Action{view.Prompt{"x1"}}},
		{"a pasted number", "question", "\x1b[200~1\x1b[201~\r", []view.Action{view.Prompt{"1"}}},
		{"cancel", "question", "\x03", []view.Action{view.Cancel{}}},

		{"text", "text", "1 or 2\r", []view.Action{view.Answer{RequestID: "7-2", Text: "1 or 2"}}},
		{"empty text", "text", "\r", nil},
		{"text instead of an option", "both", "x\r", []view.Action{view.Answer{RequestID: "7-3", Text: "x"}}},
		{"option instead of text", "both", "2", []view.Action{view.Answer{RequestID: "7-3", Label: "B"}}},
	} {
		// Bytes may come in two pieces, cut anywhere.
		for at := range len(c.keys) {
			v := view.New(40, 12)
			v.Paint(frames[c.frame])
			got := append(v.Input([]byte(c.keys[:at])), v.Input([]byte(c.keys[at:]))...)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, cut at %d: %q, want %q", c.name, at, got, c.want)
			}
		}
	}
}

// TestEscape: Escape alone cancels once it is certain that nothing follows.
func TestEscape(t *testing.T) {
	v := view.New(40, 12)
	v.Paint(frames["question"])
	if got := v.Input([]byte("\x1b")); got != nil || !v.Pending() {
		t.Fatalf("Escape may be the beginning of a sequence: %v", got)
	}
	if got := v.Flush(); !slices.Equal(got, []view.Action{view.Cancel{}}) || v.Pending() {
		t.Errorf("Flush: %v", got)
	}
	v.Input([]byte("\x1b"))
	if got := v.Input([]byte("[B\r")); !slices.Equal(got, []view.Action{view.Answer{RequestID: "7-1", Label: "No"}}) {
		t.Errorf("a late arrow key: %v", got)
	}
}

// TestNewQuestion: another question begins with its own first choice.
func TestNewQuestion(t *testing.T) {
	v := view.New(40, 12)
	v.Paint(frames["question"])
	v.Input([]byte("\x1b[B"))
	next := *twoOptions
	next.ID = "7-9"
	v.Paint(view.Frame{State: "blocked", Question: &next})
	if got := v.Input([]byte("\r")); !slices.Equal(got, []view.Action{view.Answer{RequestID: "7-9", Label: "Yes"}}) {
		t.Errorf("%v", got)
	}
	v.Paint(view.Frame{State: "working"})
	if got := v.Input([]byte("\r")); got != nil {
		t.Errorf("no question: %v", got)
	}
}

// TestHugePaste: a paste beyond all bounds is left out whole.
func TestHugePaste(t *testing.T) {
	v := view.New(40, 12)
	v.Input([]byte("a\x1b[200~"))
	for range 5 << 10 {
		v.Input([]byte(strings.Repeat("x", 1<<10)))
	}
	if got := v.Input([]byte("\x1b[201~b\r")); !slices.Equal(got, []view.Action{view.Prompt{"ab"}}) {
		t.Errorf("%.100q", got)
	}
	v.Input([]byte("\x1b[200~"))
	v.Input([]byte(strings.Repeat("x", 1<<20)))
	if got := v.Input([]byte("\x1b[201~\r")); len(got) != 1 || len(got[0].(view.Prompt).Text) != 1<<20 {
		t.Errorf("1 MiB: %.100q", got)
	}
}

// TestComposer shows drafts and the cursor in them.
func TestComposer(t *testing.T) {
	var all strings.Builder
	for _, c := range []struct{ frame, keys string }{
		{"idle", ""},
		{"idle", "hello\x1b[D\x1b[D"},
		{"idle", strings.Repeat("x", 18)},
		{"idle", strings.Repeat("漢", 9)},
		{"idle", strings.Repeat("漢", 9) + "a"},
		{"idle", "\x1b[200~a\n\tb\n" + strings.Repeat("long ", 9) + "\x1b[201~"},
		{"idle", "\x1b[200~" + strings.Repeat("line\n", 30) + "\x1b[201~" + strings.Repeat("\x02", 40)},
		{"idle", "/c\t"},
		{"question", "draft"},
		{"text", "draft"},
	} {
		p := newPerson(t, 20, 12)
		p.paint(frames[c.frame])
		p.view.Input([]byte(c.keys))
		p.paint(frames[c.frame])
		fmt.Fprintf(&all, "=== %s %.40q\n%s", c.frame, c.keys, p.sees())
	}
	golden(t, "composer-20x12", all.String())
}

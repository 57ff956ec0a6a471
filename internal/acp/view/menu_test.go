package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/view"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/vt"
)

// look is the screen as the reader of dialogs gets it.
func look(p *person) rule.DialogView {
	s := rule.TextView(p.term.ScreenText())
	if c := p.term.Cursor(); c.Visible {
		s.Cursor = c.Row
	}
	return s
}

// TestMenuIsRead: internal/rule finds the menu, with the marked option and the
// question, also below a conversation and above a draft.
func TestMenuIsRead(t *testing.T) {
	labels := []string{"Always", "Yes", "No"}
	for _, size := range [][2]int{{120, 40}, {40, 12}, {80, 24}} {
		for _, draft := range []string{"", "a draft", strings.Repeat("a long draft ", 50)} {
			p := newPerson(t, size[0], size[1])
			f := turn()[4]
			f.State, f.Question = "blocked", twoOptions
			p.view.Input([]byte(draft))
			p.paint(f)
			for step, marked := range []int{1, 2, 1, 0} {
				if step > 0 {
					p.view.Input([]byte([]string{"", "\x1b[B", "\x1b[A", "\x1b[A"}[step]))
					p.paint(f)
				}
				s := look(p)
				found, ok := s.Find(rule.Dialogs())
				if !ok || !slices.Equal(found.Labels(), labels) || found.Marked != marked {
					t.Fatalf("%v with draft %.20q: %+v, want option %d\n%s", size, draft, found, marked, p.sees())
				}
				if q := s.Question(found); q.Kind != "permission" || !strings.Contains(q.Prompt, "touch a") {
					t.Errorf("%v: %+v", size, q)
				}
			}
		}
	}
}

// TestNoMenu: without a question no screen has one, whatever the agent writes.
func TestNoMenu(t *testing.T) {
	p := newPerson(t, 80, 24)
	p.paint(view.Frame{State: "idle", Items: []conversation.Item{
		{ID: "1", Kind: conversation.Message, Text: "Shall I?\n\n❯ 1. Yes\n  2. No", Done: true},
	}})
	if found, ok := look(p).Find(rule.Dialogs()); ok {
		t.Errorf("%+v", found)
	}
}

// TestManyOptions: a menu that is larger than the screen shows the options around the
// marked one.
func TestManyOptions(t *testing.T) {
	q := &conversation.Question{ID: "1-1", Kind: "question", Title: "Which of these many things should it be?"}
	for i := range 12 {
		q.Options = append(q.Options, conversation.Option{ID: fmt.Sprint(i), Label: fmt.Sprintf("Option number %d, which has a long label", i+1)})
	}
	p := newPerson(t, 30, 8)
	var all strings.Builder
	for _, keys := range []string{"", "\x1b[B", "\x1b[B\x1b[B\x1b[B\x1b[B", strings.Repeat("\x1b[B", 20)} {
		p.view.Input([]byte(keys))
		p.paint(view.Frame{State: "blocked", Question: q})
		fmt.Fprintf(&all, "===\n%s", p.sees())
	}
	golden(t, "options-30x8", all.String())
}

// TestLongCommand: the scrollback shows the whole question.
func TestLongCommand(t *testing.T) {
	command := "cat <<'EOF' > a\n" + strings.Repeat("one more line of it\n", 30) + "EOF\nrm -rf /hidden"
	tool := &conversation.Tool{CallID: "c", Kind: "execute", Command: command, Status: conversation.ToolPending}
	q := *twoOptions
	q.Tool = tool
	f := view.Frame{State: "blocked", Question: &q, Items: []conversation.Item{{ID: "1", Kind: conversation.Call, Tool: tool}}}
	p := newPerson(t, 40, 12)
	p.paint(f)
	p.paint(f)
	text := p.term.Text(vt.TextOptions{})
	if strings.Count(text, "one more line of it\n") != 30 || strings.Count(text, "rm -rf /hidden") != 1 {
		t.Errorf("the command is not there once:\n%s", text)
	}
}

// TestReport: the status detector accepts the reports.
func TestReport(t *testing.T) {
	if b := view.Report("starting", "", "n", ""); b != nil {
		t.Errorf("a state that the protocol does not have: %q", b)
	}
	for _, c := range []struct{ state, kind, nonce, msg, want string }{
		{"working", "", "", "", "\x1b]7501;state=working:app=gc-acp\x1b\\"},
		{"blocked", "permission", "ab-12", "touch a", "\x1b]7501;state=blocked:app=gc-acp:kind=permission:nonce=ab-12:msg=dG91Y2ggYQ==\x1b\\"},
		{"idle", "", "n", "a\nb\x1b", "\x1b]7501;state=idle:app=gc-acp:nonce=n:msg=YSBi\x1b\\"},
		{"error", "", "n", strings.Repeat("é", 2000), ""},
	} {
		got := view.Report(c.state, c.kind, c.nonce, c.msg)
		if c.want != "" && string(got) != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		term, err := vt.New(vt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		term.Write(got)
		var d status.Detector
		now := time.Unix(1_800_000_000, 0)
		for _, e := range term.TakeEvents() {
			d.Event(e, now)
		}
		if a, _ := d.Detect(term, status.Facts{Started: now, LastOutput: now}, now.Add(time.Minute)); a.State != c.state || a.Kind != c.kind {
			t.Errorf("%+v is detected as %s %s", c, a.State, a.Kind)
		}
	}
}

// TestMenuNeverDoubles: a terminal that changes its size while a question is open has
// one menu, and none once it is answered.
func TestMenuNeverDoubles(t *testing.T) {
	f := turn()[6]
	answered := turn()[7]
	for _, sizes := range [][][2]int{
		{{120, 40}, {40, 12}},
		{{120, 40}, {40, 12}, {120, 40}, {40, 12}},
		{{40, 12}, {120, 40}},
		{{80, 24}, {40, 10}, {100, 30}},
		{{120, 40}, {80, 24}, {60, 16}, {40, 12}, {200, 60}},
	} {
		p := newPerson(t, sizes[0][0], sizes[0][1])
		for _, f := range turn()[:7] {
			p.paint(f)
		}
		for _, size := range sizes[1:] {
			p.resize(size[0], size[1])
			p.paint(f)
			text := p.term.Text(vt.TextOptions{})
			for _, once := range []string{"1. Allow", "❯ 2. Allow", "3. Reject", "? edit a.go", "»", "blocked · default"} {
				if n := strings.Count(text, once); n != 1 {
					t.Errorf("%v: %q is there %d times:\n%s", sizes, once, n, text)
				}
			}
		}
		p.paint(answered)
		if text := p.term.Text(vt.TextOptions{}); strings.Contains(text, "1. Allow") || strings.Contains(text, "»") {
			t.Errorf("%v: after the answer:\n%s", sizes, text)
		}
	}
}

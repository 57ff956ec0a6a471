package view_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/view"
	"gascity.dev/gc/vt"
)

var update = flag.Bool("update", false, "write the golden files")

// person is a terminal with a view on it.
type person struct {
	t    rapid.TB
	term *vt.Terminal
	view *view.View
}

func newPerson(t rapid.TB, cols, rows int) *person {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, term, view.New(cols, rows)}
}

func (p *person) paint(f view.Frame) { p.term.Write(p.view.Paint(f)) }

func (p *person) resize(cols, rows int) {
	if err := p.term.Resize(cols, rows); err != nil {
		p.t.Fatal(err)
	}
	p.view.Resize(cols, rows)
}

// sees returns scrollback and screen, with ▮ at the cursor.
func (p *person) sees() string {
	lines := strings.Split(p.term.Text(vt.TextOptions{}), "\n")
	c := p.term.Cursor()
	at := p.term.HistoryLen() + c.Row
	for len(lines) <= at {
		lines = append(lines, "")
	}
	row := []rune(lines[at])
	for len(row) < c.Col {
		row = append(row, ' ')
	}
	lines[at] = string(row[:c.Col]) + "▮" + string(row[c.Col:])
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

// turn is a turn in progress: every frame is one more moment.
func turn() []view.Frame {
	prompt := conversation.Item{ID: "1", Kind: conversation.Prompt, Text: "fix the test", By: "mayor", Done: true}
	thought := conversation.Item{ID: "2", Kind: conversation.Thought, Text: "The test fails. I look at it first, and then think about what could be done"}
	run := conversation.Tool{CallID: "c1", Kind: "execute", Title: "go test ./...", Command: "go test ./...", Status: conversation.ToolRunning}
	call := conversation.Item{ID: "3", Kind: conversation.Call, Tool: &run}
	frames := []view.Frame{
		{State: "starting"},
		{State: "idle", Mode: "default", Model: "opus"},
		{State: "working", Mode: "default", Model: "opus", Items: []conversation.Item{prompt}},
		{State: "working", Mode: "default", Model: "opus", Items: []conversation.Item{prompt, thought}},
		{State: "working", Mode: "default", Model: "opus", Items: []conversation.Item{prompt, done(thought), call}},
	}
	failed := run
	failed.Status = conversation.ToolFailed
	for i := range 60 {
		failed.Output += fmt.Sprintf("--- FAIL: TestX%d\n", i+1)
	}
	call.Tool, call.Done = &failed, true
	message := conversation.Item{ID: "4", Kind: conversation.Message, Text: "TestX expects 3, and `add` returns 4.\n\nI change the lit"}
	frames = append(frames, view.Frame{State: "working", Mode: "default", Model: "opus", Usage: conversation.Usage{Used: 12345, Size: 200000, Cost: 0.1234, Currency: "USD"},
		Items: []conversation.Item{prompt, done(thought), call, message}})
	message.Text += "eral."
	plan := conversation.Item{ID: "5", Kind: conversation.Plan, Plan: []conversation.PlanEntry{{Text: "change it", Status: "in_progress"}, {Text: "run the tests", Status: "pending"}}}
	change := conversation.Tool{CallID: "c2", Kind: "edit", Title: "a.go", Status: conversation.ToolPending, Diffs: []conversation.Diff{{
		Path: "/project/a.go", Old: "package a\n\nfunc add(a, b int) int {\n\treturn a + b + 1\n}\n", New: "package a\n\nfunc add(a, b int) int {\n\treturn a + b\n}\n",
	}}}
	edit := conversation.Item{ID: "6", Kind: conversation.Call, Tool: &change}
	items := []conversation.Item{prompt, done(thought), call, done(message), plan, edit}
	question := &conversation.Question{ID: "1-1", Kind: "permission", Title: "a.go", Tool: &change, Options: []conversation.Option{
		{ID: "always", Label: "Allow for this session", Kind: "allow_always"},
		{ID: "once", Label: "Allow", Kind: "allow_once"},
		{ID: "cancel", Label: "Reject, and tell the agent what it should do in place of this change", Kind: "reject_once"},
	}}
	frames = append(frames, view.Frame{State: "blocked", Mode: "default", Model: "opus", Queue: 2, Items: items, Question: question})
	changed := change
	changed.Status = conversation.ToolCompleted
	edit.Tool, edit.Done = &changed, true
	plan.Plan = []conversation.PlanEntry{{Text: "change it", Status: "completed"}, {Text: "run the tests", Status: "in_progress"}}
	frames = append(frames, view.Frame{State: "working", Mode: "default", Model: "opus", Items: []conversation.Item{
		prompt, done(thought), call, done(message), plan, edit,
		{ID: "7", Kind: conversation.Notice, Text: "allowed", By: "anna", Done: true},
		{ID: "8", Kind: conversation.Call, Tool: &conversation.Tool{CallID: "c3", Kind: "execute", Command: "go test ./...", Status: conversation.ToolRunning, Output: "ok a\nok b\nok c\nok d\n"}},
	}})
	last := frames[len(frames)-1]
	last.State = "idle"
	last.Items = append(last.Items[:len(last.Items):len(last.Items)], conversation.Item{ID: "9", Kind: conversation.Message, Text: "Done. 終わり 👍\n", Done: true})
	return append(frames, last)
}

func done(it conversation.Item) conversation.Item {
	it.Done = true
	return it
}

func TestTurn(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {40, 12}} {
		p := newPerson(t, size[0], size[1])
		var all strings.Builder
		for i, f := range turn() {
			p.paint(f)
			fmt.Fprintf(&all, "=== %d: %s\n%s", i, f.State, p.sees())
		}
		golden(t, fmt.Sprintf("turn-%dx%d", size[0], size[1]), all.String())
	}
}

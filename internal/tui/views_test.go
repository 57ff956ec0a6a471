package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/vt"
)

func TestHelpHasEveryKey(t *testing.T) {
	p := sit(t, 80, 50)
	p.presses("?")
	p.wants("attach; the detach keys", "quit")
	help := p.sees()
	for key := range actionKeys {
		if !strings.Contains(help, key) {
			t.Errorf("the help has no %s", key)
		}
	}
	p.presses("?")
	p.wantsNot("quit, ctrl")
}

func TestGrid(t *testing.T) {
	p := sit(t, 120, 40)
	p.presses("g")
	p.send(screenOf(t, "mayor", 80, 24, "screen of mayor"))
	p.send(screenOf(t, "web/w-10", 80, 24, "screen of ten"))
	p.wants("mayor idle", "screen of mayor", "web/w-10 working", "screen of ten")
	if n := len(p.looker.wanted()); n != 4 {
		t.Errorf("%d screens are followed, want 4", n)
	}
	p.presses("-")
	if n := len(p.looker.wanted()); n != 1 {
		t.Errorf("%d screens are followed, want 1", n)
	}
	p.presses("0", "home", "right")
	p.sees()
	p.presses("esc")
	p.wants("Needs you")
	if n := len(p.looker.wanted()); n != 1 {
		t.Errorf("%d screens are followed, want 1", n)
	}
	q := sit(t, 80, 24)
	q.presses("g", "enter")
	q.wants("detached from web/coder")
	q.presses("r")
	q.wants("Restart web/coder?")
}

func TestExplain(t *testing.T) {
	p := sit(t, 80, 24)
	p.fake.Explained = fleet.Explanation{
		Facts:    []fleet.Fact{{Name: "state", Text: "running"}},
		Evidence: []fleet.Finding{{Source: "dialog", State: "blocked", Kind: "question", Since: minutes(4), Text: "a menu of two options"}},
	}
	p.presses("x")
	p.wants("Why web/coder is blocked", "state", "running", "dialog: blocked (question), 4m ago", "a menu of two options")
	p.presses("esc")
	p.wants("Needs you")
}

func TestEvents(t *testing.T) {
	p := sit(t, 80, 24)
	for i := range 50 {
		p.fake.Happen(fleet.Event{Time: noon.Add(time.Duration(i) * time.Second), Kind: "agent.started", Agent: "mayor", Why: fmt.Sprint("reason ", i)})
	}
	p.presses("e")
	p.drain(func() bool { return strings.Contains(p.sees(), "reason 49") })
	p.wants("agent.started", "reason 49")
	p.presses("home")
	p.wants("reason 0")
	p.fake.Happen(fleet.Event{Time: noon, Kind: "agent.stopped", Agent: "mayor", Why: "reason 50"})
	p.presses("G")
	p.drain(func() bool { return strings.Contains(p.sees(), "reason 50") })
	p.presses("esc")
	p.wants("Needs you")
}

// drain runs what waited until something is true.
func (p *person) drain(ok func() bool) {
	p.t.Helper()
	for !ok() {
		if len(p.queue) == 0 {
			p.t.Fatalf("nothing is to come\n%s", p.sees())
		}
		cmd := p.queue[0]
		p.queue = p.queue[1:]
		p.run(cmd)
	}
}

func TestHistory(t *testing.T) {
	p := sit(t, 80, 24)
	term, err := vt.New(vt.Options{Cols: 80, Rows: 500})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		fmt.Fprintf(term, "row %d\r\n", i)
	}
	fmt.Fprint(term, "\x1b[10;1HNeedle and needle 日本needle")
	page := fleet.History{Cols: 80, Total: 401}
	for i, l := range term.Screen().Lines[:400] {
		page.Lines = append(page.Lines, fleet.HistoryLine{N: uint64(i + 1), Line: l})
	}
	p.fake.Rows = page
	p.presses("h")
	p.wants("History of web/coder", "row 399")
	p.presses("pgup")
	p.wantsNot("row 399")
	p.presses("/", "'NEEDLE", "enter")
	p.wants("Needle and needle 日本needle", ": NEEDLE")
	marked := 0
	for _, l := range p.terminal().Screen().Lines {
		for _, r := range l.Runs {
			if r.Style.BG == "3" && strings.EqualFold(r.Text, "needle") {
				marked++
			}
		}
	}
	if marked != 3 {
		t.Errorf("%d matches are marked, want 3\n%s", marked, p.sees())
	}
	p.presses("n")
	p.wants("no further match of NEEDLE")
	p.presses("esc", "home")
	p.wants("row 0")
	p.told = ""
	p.presses("y")
	if !strings.HasPrefix(p.told, "\x1b]52;c;") {
		t.Errorf("copied %q", p.told)
	}
	p.presses("esc")
	p.wants("Needs you")
}

func TestCommands(t *testing.T) {
	p := sit(t, 80, 24)
	zero := 0
	p.fake.Background = []fleet.Command{{ID: "c1", Owner: "mayor", Command: "make test", Status: "running", Started: minutes(2)}, {ID: "c2", Command: "true", Status: "exited", Code: &zero, Started: minutes(3)}}
	p.fake.Printed = fleet.Output{Lines: []fleet.OutputLine{{N: 1, Text: "ok \x1b[2J"}, {N: 2, Text: "PASS"}}}
	p.presses("b")
	p.wants("running", "mayor", "make test", "exit 0")
	p.presses("enter")
	p.wants("Output of c1", `ok \x1b[2J`, "PASS")
	p.presses("esc", "esc")
	p.wants("Needs you")
}

// TestPan: a screen that does not fit shows where the cursor is, until it is moved.
func TestPan(t *testing.T) {
	p := sit(t, 80, 24)
	p.presses("tab")
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "\r\nrow %d %s", i, strings.Repeat("x", 100))
	}
	p.send(screenOf(t, "web/coder", 120, 45, b.String()))
	p.wants("row 39")
	p.presses("up", "pgup", "pgup", "pgup", "pgup")
	p.wants("row 0")
	p.wantsNot("row 39")
	p.presses("home")
	p.wants("row 39")
	p.presses("left")
	p.send(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelUp})
	p.sees()
}

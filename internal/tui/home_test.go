package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
)

func TestNarrow(t *testing.T) {
	p := sit(t, 80, 24)
	want := ` gc town  4 agents, 1 needs you
Needs you
 ! web/coder                 question    12m Delete the branch?
Fleet
 ○ mayor                     idle               3m       claude    ready
rig web
 ! web/coder                 blocked question   12m      codex
rig web, pool w
 ? web/w-2                   unknown            7m       sh
 ● web/w-10                  working            1m   ↻2  sh`
	if got := p.sees(); !strings.HasPrefix(got, want+"\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.wants("1-9 answer  enter attach")
	// The screen takes the list's place, and gives it back.
	p.presses("tab")
	p.send(screenOf(t, "web/coder", 120, 40, "the program's text"))
	p.wants("! web/coder  blocked question 12m, by dialog", "running · codex", "Delete the branch?", "1 Yes", "2 No", "120×40", "the program's text")
	p.wantsNot("Needs you")
	p.presses("tab")
	p.wants("Needs you")
}

func TestWide(t *testing.T) {
	p := sit(t, 120, 40)
	p.send(screenOf(t, "web/coder", 60, 5, "left\r\n\x1b[31mred\x1b[0m 日本 e\u0301|"))
	p.wants("Needs you", "│! web/coder  blocked question 12m, by dialog", "│left", "│red 日本 e\u0301|")
	p.send(tea.WindowSizeMsg{Width: 200, Height: 60})
	p.wants("│red 日本 e\u0301|")
	p.send(tea.WindowSizeMsg{Width: 20, Height: 5})
	p.sees()
	p.send(tea.WindowSizeMsg{Width: 2, Height: 1})
	p.sees()
}

// TestSelectionStays: the selection is an agent's, whatever comes and goes around it.
func TestSelectionStays(t *testing.T) {
	p := sit(t, 120, 40)
	p.presses("G")
	if a := p.list.agent(); a == nil || a.ID != "web/w-10" {
		t.Fatalf("selected %+v", a)
	}
	s := town()
	s.Agents = append([]fleet.Agent{{ID: "a", Name: "a", State: "running"}}, s.Agents...)
	s.Attention = nil
	p.send(snapshotMsg(s))
	if a := p.list.agent(); a == nil || a.ID != "web/w-10" {
		t.Errorf("selected %+v", a)
	}
	// It dies and is gone: the one that is now there is selected.
	s.Agents = s.Agents[:3]
	p.send(snapshotMsg(s))
	if a := p.list.agent(); a == nil || a.ID != "web/coder" {
		t.Errorf("selected %+v", a)
	}
	p.send(snapshotMsg(fleet.Snapshot{Name: "town"}))
	p.presses("j", "k", "enter", "n", "1", "r", "x", "h")
	p.wants("no sessions")
}

func TestFilterAndOrder(t *testing.T) {
	p := sit(t, 80, 24)
	p.presses("/", "'W-")
	p.wants("web/w-10", "/W-")
	p.wantsNot("mayor", "Needs you")
	p.presses("enter", "esc")
	p.wants("mayor")
	p.presses("/", "'nobody", "enter")
	p.wants("nothing matches the filter")
	p.presses("esc", "/", "'x", "esc")
	p.wants("mayor")
	for _, state := range []struct{ has, not string }{
		{"web/coder", "mayor"}, {"web/w-10", "mayor"}, {"mayor", "web/coder"}, {"nothing matches", "mayor"}, {"web/w-2", "mayor"},
	} {
		p.presses("f")
		p.wants(state.has)
		p.wantsNot(state.not)
	}
	p.presses("f")
	order := func() string {
		var names []string
		for _, e := range p.list.entries {
			if e.agent != nil && e.need == nil && e.agent.Pool != "" {
				names = append(names, e.agent.Name)
			}
		}
		return strings.Join(names, " ")
	}
	if got := order(); got != "web/w-2 web/w-10" {
		t.Errorf("by name: %s", got)
	}
	p.presses("o", "o")
	if got := order(); got != "web/w-10 web/w-2" {
		t.Errorf("by activity: %s", got)
	}
}

func TestLostFleet(t *testing.T) {
	p := sit(t, 120, 24)
	s := town()
	s.Lost, s.LostSince = "no controller", minutes(2)
	p.send(snapshotMsg(s))
	p.wants("LOST 2m: no controller", "mayor")
	p.send(awayMsg("connection refused"))
	p.wants("no live screen: connection refused")
}

func TestUnknownIsShown(t *testing.T) {
	p := sit(t, 120, 24)
	p.list.choose("web/w-2")
	p.wants("? web/w-2  unknown last known 7m ago")
}

func TestMouse(t *testing.T) {
	p := sit(t, 120, 24)
	p.sees()
	click := func(x, y int) { p.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }
	click(5, 4)
	if a := p.list.agent(); a.ID != "mayor" {
		t.Errorf("selected %s", a.ID)
	}
	click(5, 3) // a heading
	if a := p.list.agent(); a.ID != "mayor" {
		t.Errorf("selected %s", a.ID)
	}
	click(5, 4)
	p.wants("detached from mayor")
	p.send(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelDown})
	if a := p.list.agent(); a.ID == "mayor" {
		t.Error("the wheel moved nothing")
	}
	p.presses("?")
	p.send(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelDown})
	p.send(tea.MouseClickMsg{X: 500, Y: 500, Button: tea.MouseLeft})
}

// TestHostileTexts: nothing of an agent's texts reaches the terminal as a control sequence.
func TestHostileTexts(t *testing.T) {
	evil := "a\x1b]0;owned\x07\x1b[2Jb\u009b31m\u202ec\u200f\u2066d\r\ne\x00\u0085\U000e0041"
	s := town()
	s.Name, s.Warning = evil, evil
	a := &s.Agents[1]
	a.Name, a.Title, a.LastLine, a.Why, a.Error, a.Hint, a.Description, a.Provider, a.Host = evil, evil, evil, evil, evil, evil, evil, evil, evil
	a.Question.Prompt, a.Question.Options = evil, []string{evil}
	s.Attention[0].Text, s.Attention[0].Kind = evil, evil
	s.Messages[0].Text = evil
	for _, cols := range []int{80, 120} {
		p := sit(t, cols, 30)
		p.presses("home")
		p.send(snapshotMsg(s))
		p.send(screenOf(t, "web/coder", 30, 5, "x\u202ey\u0301\u2067\U000e0041z"))
		p.fake.Explained = fleet.Explanation{Facts: []fleet.Fact{{Name: evil, Text: evil}}}
		p.fake.Background = []fleet.Command{{ID: evil, Owner: evil, Command: evil, Status: evil}}
		for _, keys := range [][]string{nil, {"1"}, {"esc", "n"}, {"esc", "x"}, {"esc", "m"}, {"esc", "b"}, {"esc", "g"}, {"esc", "tab"}} {
			p.presses(keys...)
			for _, r := range p.picture().Rows {
				if rest := ours.ReplaceAllString(r.Bytes, ""); strings.ContainsFunc(rest, func(c rune) bool {
					return c < 0x20 || c >= 0x7f && c < 0xa0 || c == '\u202e' || c == '\u200f' || c == '\u2066' || c == '\u2067' || c == '\U000e0041'
				}) {
					t.Errorf("%v: %q", keys, r.Bytes)
				}
			}
			if title := p.picture().Title; strings.ContainsAny(title, "\x1b\x07\u009b") {
				t.Errorf("title %q", title)
			}
		}
	}
}

// TestSelf: the session that gc ui runs in is listed, and not looked at.
func TestSelf(t *testing.T) {
	p := sit(t, 120, 24)
	p.self = "s1"
	s := town()
	s.Agents[0].Incarnation = "s1"
	s.Attention = append(s.Attention, fleet.Attention{ID: "q/2", Kind: "question", Agent: "mayor", Text: "what gc ui shows"})
	p.send(snapshotMsg(s))
	p.list.choose("mayor")
	p.presses("k", "j")
	p.wants("gc ui runs here", "1 needs you")
	if w := p.looker.wanted(); len(w) != 0 {
		t.Errorf("it looks at %v", w)
	}
	p.presses("g")
	if w := p.looker.wanted(); len(w) != 3 {
		t.Errorf("it looks at %v", w)
	}
}

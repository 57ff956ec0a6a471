package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/vt"
)

// noon is when all tests happen.
var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

func minutes(n int) time.Time { return noon.Add(-time.Duration(n) * time.Minute) }

// town is a fleet of four agents, one of which asks.
func town() fleet.Snapshot {
	all := []fleet.Action{fleet.Interrupt, fleet.Restart, fleet.Stop, fleet.Suspend}
	return fleet.Snapshot{
		Name: "town", City: "/town", Time: noon,
		Agents: []fleet.Agent{
			{ID: "mayor", Name: "mayor", State: "running", Status: "idle", Source: "hook", Since: minutes(3), Provider: "claude", LastLine: "ready", Can: all},
			{ID: "web/coder", Name: "web/coder", Rig: "web", State: "running", Status: "blocked", Kind: "question", Source: "dialog", Since: minutes(12), Provider: "codex", Can: all,
				Question: &fleet.Question{Request: "r1", Kind: "question", Prompt: "Delete the branch?", Options: []string{"Yes", "No"}}},
			{ID: "web/w-10", Name: "web/w-10", Rig: "web", Pool: "w", State: "running", Status: "working", Since: minutes(1), Restarts: 2, Provider: "sh", Active: minutes(0), Can: all},
			{ID: "web/w-2", Name: "web/w-2", Rig: "web", Pool: "w", State: "unknown", Status: "unknown", Since: minutes(1), Seen: minutes(7), Provider: "sh", Active: minutes(9)},
		},
		Attention: []fleet.Attention{{ID: "q/1", Kind: "question", Agent: "web/coder", Since: minutes(12), Text: "Delete the branch?"}},
		Messages: []fleet.Message{
			{ID: "m1", Agent: "mayor", Text: "later", State: "queued", Created: minutes(2)},
			{ID: "m2", Agent: "web/coder", Text: "never", State: "dead", Detail: "timeout", Created: minutes(90)},
		},
	}
}

// person is somebody who looks at a model and presses keys.
type person struct {
	*model
	t     *testing.T
	fake  *fleetfake.Fleet
	queue []tea.Cmd
	told  string
	quit  bool
}

func sit(t *testing.T, cols, rows int) *person {
	t.Helper()
	p := &person{t: t, fake: &fleetfake.Fleet{Receipt: fleet.Receipt{State: fleet.Submitted}}}
	p.model = newModel(p.fake, cells.NewColours("always", true, []string{"TERM=xterm-256color"}))
	p.now = func() time.Time { return noon }
	p.attach = func(a *fleet.Agent) tea.Cmd {
		return func() tea.Msg { return attachedMsg{name: a.Name, said: "detached from " + a.Name} }
	}
	p.send(tea.WindowSizeMsg{Width: cols, Height: rows})
	p.send(snapshotMsg(town()))
	return p
}

// send gives the model a message and runs what follows from it, but for what waits.
func (p *person) send(msg tea.Msg) {
	p.t.Helper()
	p.run(p.update(msg))
}

func (p *person) run(cmd tea.Cmd) {
	p.t.Helper()
	if cmd == nil {
		return
	}
	came := make(chan tea.Msg, 1)
	go func() { came <- cmd() }()
	var msg tea.Msg
	select {
	case msg = <-came:
	case <-time.After(100 * time.Millisecond): // a timer, or a stream that has nothing
		p.queue = append(p.queue, func() tea.Msg { return <-came })
		return
	}
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			p.run(c)
		}
	case tea.QuitMsg:
		p.quit = true
	case tellMsg:
		p.told += string(msg)
	case panicMsg:
		p.t.Fatal(msg.text)
	default:
		p.send(msg)
	}
}

// presses presses keys, named as in Bubble Tea; a text in quotes is typed.
func (p *person) presses(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "'"); ok {
			for _, r := range text {
				p.send(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
			continue
		}
		p.send(keyOf(k))
	}
}

var namedKeys = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "space": tea.KeySpace, "backspace": tea.KeyBackspace,
}

func keyOf(k string) tea.KeyPressMsg {
	var mod tea.KeyMod
	if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
		mod, k = tea.ModCtrl, rest
	}
	if code, ok := namedKeys[k]; ok {
		return tea.KeyPressMsg{Code: code, Mod: mod}
	}
	r := []rune(k)[0]
	if mod != 0 {
		return tea.KeyPressMsg{Code: r, Mod: mod}
	}
	return tea.KeyPressMsg{Code: r, Text: k}
}

// sees returns the picture as our own emulator shows it.
func (p *person) sees() string {
	p.t.Helper()
	term := p.terminal()
	var lines []string
	for y := range p.rows {
		lines = append(lines, strings.TrimRight(term.Line(y), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (p *person) terminal() *vt.Terminal {
	p.t.Helper()
	term, err := vt.New(vt.Options{Cols: p.cols, Rows: p.rows})
	if err != nil {
		p.t.Fatal(err)
	}
	pic := p.picture()
	if len(pic.Rows) != p.rows {
		p.t.Errorf("%d rows, want %d", len(pic.Rows), p.rows)
	}
	for y, r := range pic.Rows {
		if r.Cols > p.cols {
			p.t.Errorf("row %d has %d columns, want at most %d", y, r.Cols, p.cols)
		}
		fmt.Fprintf(term, "\x1b[%d;1H%s", y+1, r.Bytes)
	}
	return term
}

func (p *person) wants(parts ...string) {
	p.t.Helper()
	got := p.sees()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			p.t.Errorf("no %q in\n%s", part, got)
		}
	}
}

func (p *person) wantsNot(parts ...string) {
	p.t.Helper()
	got := p.sees()
	for _, part := range parts {
		if strings.Contains(got, part) {
			p.t.Errorf("%q in\n%s", part, got)
		}
	}
}

func (p *person) did(want ...string) {
	p.t.Helper()
	if got := p.fake.Done(); !slices.Equal(got, want) {
		p.t.Errorf("it did %q, want %q", got, want)
	}
}

// screenOf is what a program shows after it wrote something.
func screenOf(t testing.TB, id string, cols, rows int, wrote string) screenMsg {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.Write([]byte(wrote)); err != nil {
		t.Fatal(err)
	}
	s := term.Screen()
	u := screens.Update{ID: id, State: screens.Running, Revision: s.Revision, Cols: cols, Rows: rows, Cursor: s.Cursor, Full: true, Height: rows, Width: cols}
	for y, l := range s.Lines {
		u.Changed = append(u.Changed, screens.Row{Y: y, Line: l})
	}
	return screenMsg(u)
}

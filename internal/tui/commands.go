package tui

import (
	"context"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// commandsPause is how often the list of background commands, or the output of one, is
// asked for while it is shown.
const commandsPause = 2 * time.Second

// commandsMsg is the list of background commands.
type commandsMsg struct {
	of   *commands
	list []fleet.Command
	err  error
}

// outputMsg is the end of the output of one.
type outputMsg struct {
	of *commands
	id string
	fleet.Output
	err error
}

// commands shows the background commands, and the output of one.
type commands struct {
	list   []fleet.Command
	known  bool
	err    error
	at     int
	top    int
	opened string // the id of the one whose output is shown
	output outputMsg
	scroller
	ended bool
}

func (m *model) openCommands() tea.Cmd {
	v := &commands{scroller: scroller{end: true}}
	m.open(v)
	return v.ask(m.source)
}

// ask asks for what is shown.
func (v *commands) ask(source fleet.Fleet) tea.Cmd {
	id := v.opened
	return work(func(ctx context.Context) tea.Msg {
		if id != "" {
			out, err := source.Output(ctx, id, fleet.Page{})
			return outputMsg{of: v, id: id, Output: out, err: err}
		}
		list, err := source.Commands(ctx)
		return commandsMsg{of: v, list: list, err: err}
	})
}

// askLater asks again after a pause.
func (v *commands) askLater() tea.Cmd {
	return tea.Tick(commandsPause, func(time.Time) tea.Msg { return askMsg{v} })
}

type askMsg struct{ of *commands }

func (v *commands) receive(m *model, msg tea.Msg) tea.Cmd {
	if v.ended {
		return nil
	}
	switch msg := msg.(type) {
	case commandsMsg:
		if msg.of == v {
			v.known, v.list, v.err = true, msg.list, msg.err
			v.at = max(0, min(v.at, len(v.list)-1))
			return v.askLater()
		}
	case outputMsg:
		if msg.of == v && msg.id == v.opened {
			v.output = msg
		}
		if msg.of == v {
			return v.askLater()
		}
	case shownMsg:
		if msg.of == v && msg.id == v.opened {
			v.output = msg.outputMsg
		}
	case askMsg:
		if msg.of == v {
			return v.ask(m.source)
		}
	}
	return nil
}

func (v *commands) close() { v.ended = true }

func (v *commands) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	if v.opened != "" {
		if !v.scroller.key(key) && (quitKeys(k) || key == "left") {
			v.opened = ""
		}
		return nil
	}
	switch key {
	case "up", "k":
		v.at = max(0, v.at-1)
	case "down", "j":
		v.at = max(0, min(v.at+1, len(v.list)-1))
	case "enter", "right":
		if v.at < len(v.list) {
			v.opened = v.list[v.at].ID
			v.output, v.scroller = outputMsg{}, scroller{end: true}
			id, source := v.opened, m.source
			return work(func(ctx context.Context) tea.Msg {
				out, err := source.Output(ctx, id, fleet.Page{})
				return shownMsg{outputMsg{of: v, id: id, Output: out, err: err}}
			})
		}
	case "esc", "q", "b":
		m.close()
	}
	return nil
}

// shownMsg is the first output of a command that was opened: the asking goes on beside it.
type shownMsg struct{ outputMsg }

func (*commands) height(*model) int { return 0 }

func (v *commands) draw(m *model, cols, rows int) ([]cells.Row, terminal.Cursor) {
	if v.opened != "" {
		return v.drawOutput(m, cols, rows), terminal.Cursor{}
	}
	out := []cells.Row{m.rule("Background commands", cols)}
	var r cells.Row
	switch {
	case v.err != nil:
		r.Put(m.theme.bad, v.err.Error(), cols)
		return append(out, r), terminal.Cursor{}
	case !v.known:
		r.Put(m.theme.dim, "asking…", cols)
		return append(out, r), terminal.Cursor{}
	case len(v.list) == 0:
		r.Put(m.theme.dim, "no background command runs or has run", cols)
		return append(out, r), terminal.Cursor{}
	}
	v.top = max(min(v.top, v.at), v.at-(rows-1)+1)
	for i := v.top; i < len(v.list) && len(out) < rows; i++ {
		out = append(out, v.drawCommand(m, i, cols))
	}
	return out, terminal.Cursor{}
}

func (v *commands) drawCommand(m *model, i, cols int) cells.Row {
	c := &v.list[i]
	var r cells.Row
	if i == v.at {
		r.Base = m.theme.selected
	}
	look, status := m.theme.busy, c.Status
	if c.Code != nil {
		look, status = m.theme.good, "exit "+strconv.Itoa(*c.Code)
		if *c.Code != 0 {
			look = m.theme.bad
		}
	}
	m.column(&r, look, " "+status, 12, cols)
	m.column(&r, "", c.Owner, nameCols(cols), cols)
	m.column(&r, "", age(c.Started, m.now()), 5, cols)
	r.Put("", c.Command, cols-r.Cols())
	if i == v.at {
		r.To(cols)
	}
	return r
}

func (v *commands) drawOutput(m *model, cols, rows int) []cells.Row {
	out := []cells.Row{m.rule("Output of "+v.opened, cols)}
	var lines []cells.Row
	if v.output.err != nil {
		var r cells.Row
		r.Put(m.theme.bad, v.output.err.Error(), cols)
		lines = append(lines, r)
	}
	for _, l := range v.output.Lines {
		var r cells.Row
		r.Put("", l.Text, cols)
		lines = append(lines, r)
	}
	v.fit(len(lines), rows-1)
	return append(out, lines[v.scroller.top:min(v.scroller.top+v.scroller.rows, len(lines))]...)
}

func (v *commands) hints(*model) []hint {
	if v.opened != "" {
		return []hint{{"↑↓", "scroll"}, {"esc", "back"}}
	}
	return []hint{{"enter", "output"}, {"↑↓", "select"}, {"esc", "back"}}
}

package tui

import (
	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// confirm asks once before something is done. With a request it ends when the agent asks
// something else.
type confirm struct {
	question, detail string
	yes              tea.Cmd
	agent, request   string
}

func (c *confirm) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "y", "Y", "enter":
		m.close()
		return c.yes
	case "n", "N", "esc", "q":
		m.close()
	}
	return nil
}

func (c *confirm) receive(m *model, msg tea.Msg) tea.Cmd {
	if _, ok := msg.(snapshotMsg); ok && c.request != "" && m.top() == c {
		if a := m.agent(c.agent); a == nil || a.Question == nil || a.Question.Request != c.request {
			m.close()
			m.note(c.agent+": "+changed, true, true)
		}
	}
	return nil
}

func (c *confirm) height(*model) int {
	if c.detail != "" {
		return 3
	}
	return 2
}

func (c *confirm) draw(m *model, cols, _ int) ([]cells.Row, terminal.Cursor) {
	rows := []cells.Row{m.rule("", cols)}
	if c.detail != "" {
		var r cells.Row
		r.Put("", c.detail, cols)
		rows = append(rows, r)
	}
	var r cells.Row
	r.Put(m.theme.need, c.question, cols-8)
	r.Put("", " [y/n] ", cols-r.Cols())
	return append(rows, r), terminal.Cursor{Shown: true, Row: len(rows), Col: r.Cols()}
}

func (*confirm) hints(*model) []hint { return []hint{{"y", "yes"}, {"n", "no"}} }

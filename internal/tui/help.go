package tui

import (
	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/tui/internal/cells"
)

// keysHelp are all keys, in groups.
var keysHelp = []struct {
	title string
	keys  []hint
}{
	{"Move", []hint{
		{"↑ ↓, j k", "select"}, {"pgup pgdn, home end", "a page, the first, the last"}, {"tab, ← →", "list or screen; in the screen the arrows move it"},
		{"/", "filter by text"}, {"f", "filter by state"}, {"o", "order: name, since, activity"}, {"esc", "dismiss a note, go back, show everything"},
	}},
	{"The selected agent", []hint{
		{"enter", "attach; the detach keys (ctrl-b d) come back"}, {"n", "write a message: ctrl-s sends, tab queues"}, {"1-9", "answer its question"},
		{"a", "answer with a text"}, {"i", "interrupt"}, {"r", "restart"}, {"s", "stop"}, {"t", "start"}, {"z, Z", "suspend, resume"},
		{"v", "its work was seen"}, {"h", "history"}, {"x", "explain its state"},
	}},
	{"Views", []hint{
		{"g", "grid of live screens: + and - change how many"}, {"e", "events"}, {"m", "queued messages and dead letters: c cancels, r retries"},
		{"b", "background commands"}, {"ctrl-l", "paint anew"}, {"ctrl-z", "suspend this program"}, {"q, ctrl-c", "quit"},
	}},
}

func newHelp() view { return &pager{title: "Keys", lines: helpLines} }

func helpLines(m *model, cols int) []cells.Row {
	var rows []cells.Row
	for _, g := range keysHelp {
		var r cells.Row
		r.Put(m.theme.heading, g.title, cols)
		rows = append(rows, r)
		for _, h := range g.keys {
			var r cells.Row
			r.Put(m.theme.key, "  "+h.key, cols)
			r.To(min(24, cols))
			r.Put("", h.does, cols-r.Cols())
			rows = append(rows, r)
		}
	}
	return rows
}

// quitKeys close a view.
func quitKeys(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "esc", "q":
		return true
	}
	return false
}

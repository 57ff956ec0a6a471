package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
)

// explainMsg is why an agent is in its state.
type explainMsg struct {
	agent string
	fleet.Explanation
	err error
}

// explain shows why an agent is in its state.
type explain struct {
	pager
	agent string
	known *explainMsg
}

func (m *model) openExplain(a *fleet.Agent) tea.Cmd {
	e := &explain{agent: a.ID, pager: pager{title: "Why " + a.Name + " is " + doing(a)}}
	e.lines = e.text
	m.open(e)
	id, source := a.ID, m.source
	return work(func(ctx context.Context) tea.Msg {
		x, err := source.Explain(ctx, id)
		return explainMsg{agent: id, Explanation: x, err: err}
	})
}

func (e *explain) receive(_ *model, msg tea.Msg) tea.Cmd {
	if x, ok := msg.(explainMsg); ok && x.agent == e.agent {
		e.known = &x
	}
	return nil
}

func (e *explain) text(m *model, cols int) []cells.Row {
	var rows []cells.Row
	put := func(l cells.Look, indent int, text string) {
		for _, s := range cells.Wrap(text, cols-indent) {
			var r cells.Row
			r.To(indent)
			r.Put(l, s, cols-indent)
			rows = append(rows, r)
		}
	}
	switch {
	case e.known == nil:
		put(m.theme.dim, 0, "asking…")
		return rows
	case e.known.err != nil:
		put(m.theme.bad, 0, e.known.err.Error())
		return rows
	}
	for _, f := range e.known.Facts {
		put(m.theme.heading, 0, f.Name)
		put("", 2, f.Text)
	}
	for i, f := range e.known.Evidence {
		if i == 0 {
			put(m.theme.heading, 0, "Evidence, the strongest first")
		}
		state := f.State
		if state == "" {
			state = "nothing"
		}
		if f.Kind != "" {
			state += " (" + f.Kind + ")"
		}
		if s := ago(f.Since, m.now()); s != "" {
			state += ", " + s
		}
		put(m.theme.bold, 2, f.Source+": "+state)
		put("", 4, f.Text)
	}
	return rows
}

package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// messages shows the messages that wait for agents, and the dead letters.
type messages struct {
	selected string // id
	at       int
	top      int
}

// find returns the selected message; nil without any.
func (v *messages) find(m *model) *fleet.Message {
	list := m.snap.Messages
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		if list[i].ID == v.selected {
			v.at = i
			return &list[i]
		}
	}
	v.at = min(v.at, len(list)-1)
	v.selected = list[v.at].ID
	return &list[v.at]
}

func (v *messages) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	msg := v.find(m)
	move := func(by int) {
		if msg != nil {
			v.at = max(0, min(v.at+by, len(m.snap.Messages)-1))
			v.selected = m.snap.Messages[v.at].ID
		}
	}
	switch k.String() {
	case "esc", "q", "m":
		m.close()
	case "up", "k":
		move(-1)
	case "down", "j":
		move(1)
	case "home":
		move(-v.at)
	case "end", "G":
		move(len(m.snap.Messages))
	case "c":
		return v.cancel(m, msg)
	case "r":
		return v.retry(m, msg)
	}
	return nil
}

// cancel takes a message back, after a question.
func (v *messages) cancel(m *model, msg *fleet.Message) tea.Cmd {
	if msg == nil {
		return nil
	}
	id, source := msg.ID, m.source
	m.open(&confirm{question: "Cancel the message to " + msg.Agent + "?", detail: msg.Text, yes: work(func(ctx context.Context) tea.Msg {
		return doneMsg{text: "cancelled", err: named("cancel", source.CancelMessage(ctx, id))}
	})})
	return nil
}

// retry queues a dead letter again.
func (v *messages) retry(m *model, msg *fleet.Message) tea.Cmd {
	if msg == nil {
		return nil
	}
	if msg.State != "dead" {
		m.note("only a dead letter can be tried again", false, true)
		return nil
	}
	id, source := msg.ID, m.source
	return work(func(ctx context.Context) tea.Msg {
		return doneMsg{text: "queued again", err: named("retry", source.RetryMessage(ctx, id))}
	})
}

func (*messages) height(*model) int { return 0 }

func (v *messages) draw(m *model, cols, rows int) ([]cells.Row, terminal.Cursor) {
	out := []cells.Row{m.rule("Messages", cols)}
	if v.find(m) == nil {
		var r cells.Row
		r.Put(m.theme.dim, "no message waits, and none was given up", cols)
		return append(out, r), terminal.Cursor{}
	}
	list := m.snap.Messages
	v.top = max(min(v.top, v.at), v.at-(rows-1)+1)
	for i := v.top; i < len(list) && len(out) < rows; i++ {
		msg := &list[i]
		var r cells.Row
		if i == v.at {
			r.Base = m.theme.selected
		}
		look := m.theme.busy
		if msg.State == "dead" {
			look = m.theme.bad
		}
		m.column(&r, look, " "+msg.State, 12, cols)
		m.column(&r, "", msg.Agent, nameCols(cols), cols)
		m.column(&r, "", age(msg.Created, m.now()), 5, cols)
		if msg.Detail != "" {
			r.Put(m.theme.dim, msg.Detail+": ", cols-r.Cols())
		}
		r.Put("", msg.Text, cols-r.Cols())
		if i == v.at {
			r.To(cols)
		}
		out = append(out, r)
	}
	return out, terminal.Cursor{}
}

func (v *messages) hints(m *model) []hint {
	h := []hint{{"c", "cancel"}}
	if msg := v.find(m); msg != nil && msg.State == "dead" {
		h = append(h, hint{"r", "retry"})
	}
	return append(h, hint{"↑↓", "select"}, hint{"esc", "back"})
}

package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/textarea"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// composer is where a message of many lines is written, or an answer.
type composer struct {
	text    textarea.Model
	agent   string // id
	name    string
	queue   bool   // leave it for when the agent takes one
	request string // of the question that it answers; "" for a message
	prompt  string
}

func newComposer(a *fleet.Agent, text string) *composer {
	c := &composer{text: textarea.New(), agent: a.ID, name: a.Name}
	c.text.ShowLineNumbers = false
	c.text.Prompt = ""
	c.text.CharLimit = 0
	c.text.MaxHeight = 0
	c.text.SetVirtualCursor(false)
	c.text.SetStyles(textarea.Styles{})
	c.text.SetValue(text)
	return c
}

func (m *model) openComposer(a *fleet.Agent) tea.Cmd {
	c := newComposer(a, m.drafts[a.ID])
	m.open(c)
	return c.text.Focus()
}

// openAnswer answers a question with a text.
func (m *model) openAnswer(a *fleet.Agent) tea.Cmd {
	if a.Question == nil || !a.Question.Text {
		m.note(a.Name+" does not ask for a text", false, true)
		return nil
	}
	c := newComposer(a, "")
	c.request, c.prompt = a.Question.Request, a.Question.Prompt
	m.open(c)
	return c.text.Focus()
}

func (c *composer) key(m *model, k tea.KeyPressMsg) (cmd tea.Cmd) {
	switch k.String() {
	case "esc":
		c.keep(m)
		m.close()
	case "ctrl+s", "ctrl+enter", "alt+enter", "ctrl+d":
		return c.send(m)
	case "tab":
		c.queue = !c.queue && c.request == ""
	default:
		c.text, cmd = c.text.Update(k)
	}
	return cmd
}

func (c *composer) paste(_ *model, p tea.PasteMsg) (cmd tea.Cmd) {
	c.text, cmd = c.text.Update(p)
	return cmd
}

// keep remembers what was not sent.
func (c *composer) keep(m *model) {
	if c.request == "" {
		m.drafts[c.agent] = c.text.Value()
	}
}

// send sends the message. Until it is known to be submitted it stays the draft.
func (c *composer) send(m *model) tea.Cmd {
	text := c.text.Value()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	c.keep(m)
	m.close()
	id, name, source, queue := c.agent, c.name, m.source, c.queue
	if c.request != "" {
		if a := m.agent(id); a != nil {
			return m.answer(a, fleet.Answer{Request: c.request, Text: text})
		}
		return nil
	}
	return work(func(ctx context.Context) tea.Msg {
		if queue {
			_, err := source.Queue(ctx, id, text)
			return sentMsg{agent: id, text: text, sent: err == nil, doneMsg: doneMsg{text: name + ": queued", err: named(name+": queue", err)}}
		}
		r, err := source.Nudge(ctx, id, text)
		return sentMsg{agent: id, text: text, sent: err == nil && r.State == fleet.Submitted, doneMsg: doneMsg{
			text: name + ": " + receiptText(r), err: named(name+": nudge", err),
			sticky: r.State != fleet.Submitted, bad: r.State != fleet.Submitted,
		}}
	})
}

// receiptText is a receipt in one line.
func receiptText(r fleet.Receipt) string {
	s := r.State
	if r.State != fleet.Submitted {
		s = "not submitted: " + s
	}
	for _, more := range []string{r.Detail, r.Changed} {
		if more != "" {
			s += ", " + more
		}
	}
	return s
}

// sentMsg is the outcome of a message.
type sentMsg struct {
	agent, text string
	sent        bool
	doneMsg
}

func (m *model) wasSent(s sentMsg) {
	if s.sent && m.drafts[s.agent] == s.text {
		delete(m.drafts, s.agent)
	}
	m.done(s.doneMsg)
}

func (c *composer) height(m *model) int { return min(max(m.rows/3, 4), 12) }

func (c *composer) draw(m *model, cols, rows int) ([]cells.Row, terminal.Cursor) {
	title := "to " + c.name
	switch {
	case c.request != "":
		title = "answer to " + c.name + ": " + c.prompt
	case c.queue:
		title = "for the queue of " + c.name
	}
	out := []cells.Row{m.rule(title, cols)}
	c.text.SetWidth(cols)
	c.text.SetHeight(max(rows-1, 1))
	for line := range strings.SplitSeq(c.text.View(), "\n") {
		var r cells.Row
		r.Put("", plain(line), cols)
		out = append(out, r)
	}
	at := terminal.Cursor{}
	if p := c.text.Cursor(); p != nil {
		at = terminal.Cursor{Shown: true, Row: p.Y + 1, Col: min(p.X, cols-1)}
	}
	return out[:min(len(out), rows)], at
}

func (c *composer) hints(*model) []hint {
	h := []hint{{"ctrl-s", "send"}, {"enter", "new line"}}
	if c.request == "" {
		h = append(h, hint{"tab", map[bool]string{false: "queue instead", true: "send at once"}[c.queue]})
	}
	return append(h, hint{"esc", "close, keep the draft"})
}

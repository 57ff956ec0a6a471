package tui

import (
	"strconv"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
)

// drawList draws the attention list and the fleet.
func (m *model) drawList(cols, rows int) []cells.Row {
	m.list.scroll(rows)
	out := make([]cells.Row, rows)
	for i := range out {
		at := m.list.top + i
		if at >= len(m.list.entries) {
			continue
		}
		e := &m.list.entries[at]
		if at == m.list.selected {
			out[i].Base = m.theme.selected
		}
		switch {
		case e.heading != "":
			out[i].Put(m.theme.heading, e.heading, cols)
		case e.need != nil:
			m.drawNeed(&out[i], e, cols)
		default:
			m.drawAgent(&out[i], e.agent, cols)
		}
		if at == m.list.selected {
			out[i].To(cols)
		}
	}
	if len(m.list.entries) == 0 && m.known && rows > 0 {
		out[0].Put(m.theme.dim, m.nothing(), cols)
	}
	return out
}

// nothing says why the list is empty.
func (m *model) nothing() string {
	switch {
	case m.list.filter != "" || m.list.state != 0:
		return "nothing matches the filter; esc shows everything"
	case m.snap.City != "":
		return "the city has no agents"
	}
	return "no sessions; gc session new starts one"
}

// drawNeed draws an occasion that needs somebody.
func (m *model) drawNeed(r *cells.Row, e *entry, cols int) {
	name := e.need.Agent
	if e.agent != nil {
		name = e.agent.Name
	}
	r.Put(m.theme.need, " ! ", cols)
	m.column(r, "", name, nameCols(cols), cols)
	m.column(r, m.theme.need, e.need.Kind, 12, cols)
	m.column(r, "", age(e.need.Since, m.now()), 4, cols)
	if !e.need.Until.IsZero() {
		r.Put("", "until "+e.need.Until.Local().Format("15:04")+" ", cols-r.Cols())
	}
	r.Put("", e.need.Text, cols-r.Cols())
}

// column adds a text and fills the row up to the next column.
func (m *model) column(r *cells.Row, l cells.Look, text string, width, cols int) {
	from := r.Cols()
	r.Put(l, text, min(width-1, cols-from))
	r.To(min(from+width, cols))
}

// nameCols is the width of the names.
func nameCols(cols int) int { return min(max(cols/3, 16), 28) }

// detailCols is the width from which the list shows more than a name and what it does.
const detailCols = 76

// leastWords is the width from which a part of an agent's last line says something.
const leastWords = 12

// drawAgent draws one agent.
func (m *model) drawAgent(r *cells.Row, a *fleet.Agent, cols int) {
	mark, look := m.theme.mark(a)
	r.Put(look, " "+mark+" ", cols)
	m.column(r, "", a.Name, nameCols(cols), cols)
	m.column(r, look, doing(a), 19, cols)
	m.column(r, "", m.since(a), 5, cols)
	if cols < detailCols {
		m.extras(r, a, cols)
		if left := cols - r.Cols(); left >= leastWords {
			r.Put("", lastWords(a), left)
		}
		return
	}
	if a.Restarts > 0 {
		m.column(r, "", "↻"+strconv.Itoa(a.Restarts), 4, cols)
	} else {
		r.To(r.Cols() + 4)
	}
	m.column(r, m.theme.dim, a.Provider, 10, cols)
	m.extras(r, a, cols)
	r.Put("", lastWords(a), cols-r.Cols())
}

// extras are what an agent has only sometimes.
func (m *model) extras(r *cells.Row, a *fleet.Agent, cols int) {
	if a.Queued > 0 {
		r.Put(m.theme.unknown, "✉"+strconv.Itoa(a.Queued)+" ", cols-r.Cols())
	}
	if a.Host != "" {
		r.Put(m.theme.dim, "@"+a.Host+" ", cols-r.Cols())
	}
}

// since is how long an agent has been doing what it does. Of one that is unknown it is how
// long ago anything was known.
func (m *model) since(a *fleet.Agent) string {
	if a.State == "unknown" && !a.Seen.IsZero() {
		return age(a.Seen, m.now())
	}
	return age(a.Since, m.now())
}

// lastWords is the last that an agent said or showed.
func lastWords(a *fleet.Agent) string {
	for _, s := range []string{a.Error, a.LastLine, a.Message, a.Title} {
		if s != "" {
			return s
		}
	}
	return ""
}

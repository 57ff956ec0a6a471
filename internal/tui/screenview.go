package tui

import (
	"strconv"
	"strings"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/vt"
)

// live is the screen of a session, as it was pushed last.
type live struct {
	screens.Screen
	top int // the first row that came, with a crop
}

// setScreen takes what changed of a screen.
func (m *model) setScreen(u screens.Update) {
	l := m.screens[u.ID]
	if l == nil {
		return // nobody looks any more
	}
	l.Screen, l.top = l.Apply(u), u.Top
}

// keepScreens forgets the screens that are not shown any more.
func (m *model) keepScreens(want []screens.Look) {
	kept := make(map[string]*live, len(want))
	for _, w := range want {
		if kept[w.ID] = m.screens[w.ID]; kept[w.ID] == nil {
			kept[w.ID] = &live{}
		}
	}
	m.screens = kept
}

// isSelf reports whether an agent's session is the one that this program runs in: its screen
// would change with each picture of itself.
func (m *model) isSelf(a *fleet.Agent) bool {
	return a != nil && m.self != "" && (a.Incarnation == m.self || a.Session != "" && a.Session == m.selfName)
}

// pan is which part of a screen that does not fit is shown.
type pan struct {
	agent    string
	by       bool // a person moved it; else it follows the cursor
	row, col int
}

// follow forgets where the person was when another agent is selected.
func (p *pan) follow(a *fleet.Agent) {
	if a == nil || a.ID != p.agent {
		*p = pan{}
		if a != nil {
			p.agent = a.ID
		}
	}
}

// screenKey is a key that moves the part of the screen that is shown.
func (m *model) screenKey(key string) bool {
	dr, dc := 0, 0
	switch key {
	case "up", "k":
		dr = -1
	case "down", "j":
		dr = 1
	case "pgup":
		dr = -max(m.body.rows/2, 1)
	case "pgdown":
		dr = max(m.body.rows/2, 1)
	case "left":
		dc = -8
	case "right":
		dc = 8
	case "home":
		m.pan.by = false
		return true
	default:
		return false
	}
	if key == "left" && m.pan.col == 0 {
		return false // leave the screen
	}
	m.panBy(dr, dc)
	return true
}

func (m *model) panBy(dr, dc int) {
	m.pan.by = true
	m.pan.row, m.pan.col = max(0, m.pan.row+dr), max(0, m.pan.col+dc)
}

// drawScreen draws what is known of the selected agent, and its live screen.
func (m *model) drawScreen(left, cols, rows int) []cells.Row {
	out := make([]cells.Row, rows)
	for i := range out {
		out[i] = cells.At(left)
	}
	a := m.list.agent()
	if a == nil {
		if n := m.list.need(); n != nil && rows > 0 {
			out[0].Put("", n.Text, cols)
		}
		return out
	}
	head := m.facts(a, cols)
	head = head[:min(len(head), max(rows-4, 1))]
	for i, h := range head {
		if i < rows {
			h(&out[i])
		}
	}
	if rest := rows - len(head) - 1; rest > 0 {
		l := m.screens[a.ID]
		title := m.screenTitle(l)
		if m.isSelf(a) {
			title = "gc ui runs here; a screen that shows itself has no end"
		}
		m.drawRule(&out[len(head)], title, cols)
		m.drawCells(out[len(head)+1:], l, cols, &m.pan, true)
	}
	return out
}

// facts are the rows above the screen: what the agent is and does, and what it asks.
func (m *model) facts(a *fleet.Agent, cols int) []func(*cells.Row) {
	mark, look := m.theme.mark(a)
	rows := []func(*cells.Row){func(r *cells.Row) {
		r.Put(look, mark+" ", cols)
		r.Put(m.theme.bold, a.Name+"  ", cols-r.Cols())
		r.Put(look, doing(a), cols-r.Cols())
		if s := m.evidence(a); s != "" {
			r.Put(m.theme.dim, " "+s, cols-r.Cols())
		}
	}, func(r *cells.Row) { r.Put(m.theme.dim, m.about(a), cols) }}
	add := func(l cells.Look, s string) {
		if s != "" {
			rows = append(rows, func(r *cells.Row) { r.Put(l, s, cols) })
		}
	}
	add(m.theme.bad, a.Error)
	if a.Hint != "" {
		add(m.theme.dim, "hint: "+a.Hint)
	}
	add(m.theme.need, a.Limited)
	if q := a.Question; q != nil {
		for _, s := range cells.Wrap(q.Prompt, cols) {
			add(m.theme.need, s)
		}
		for i, o := range q.Options {
			add("", strconv.Itoa(i+1)+" "+o)
		}
		if q.Text {
			add(m.theme.dim, "a answers with a text")
		}
	}
	return rows
}

// evidence is where the status comes from, and since when.
func (m *model) evidence(a *fleet.Agent) string {
	var parts []string
	if a.State == "unknown" && !a.Seen.IsZero() {
		parts = append(parts, "last known "+ago(a.Seen, m.now()))
	} else if s := age(a.Since, m.now()); s != "" {
		parts = append(parts, s)
	}
	if a.Source != "" {
		parts = append(parts, "by "+a.Source)
	}
	if a.By != "" {
		parts = append(parts, "by "+a.By)
	}
	return strings.Join(parts, ", ")
}

// about is what an agent is.
func (m *model) about(a *fleet.Agent) string {
	parts := []string{a.State}
	for _, s := range []string{a.Provider, a.Host, a.Description, a.Exit} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if a.Restarts > 0 {
		parts = append(parts, plural(a.Restarts, "restart", "restarts"))
	}
	if a.Queued > 0 {
		parts = append(parts, plural(a.Queued, "message waits", "messages wait"))
	}
	if a.Attached > 0 {
		parts = append(parts, strconv.Itoa(a.Attached)+" attached")
	}
	if a.Recording {
		parts = append(parts, "recorded")
	}
	return strings.Join(parts, " · ")
}

// screenTitle says what is above a screen: its size, and its state if that is none that runs.
func (m *model) screenTitle(l *live) string {
	switch {
	case m.away != "":
		return "no live screen: " + m.away
	case l == nil || l.State == "":
		return ""
	case l.State == screens.Gone:
		return "no session " + l.Why
	case l.State == screens.Exited:
		return "last screen"
	case l.State == screens.Unknown:
		return "last seen; cannot tell: " + l.Why
	}
	title := strconv.Itoa(l.Cols) + "×" + strconv.Itoa(l.Rows)
	if l.Title != "" {
		title += " " + l.Title
	}
	return title
}

// drawCells draws the part of a screen that fits. With follow, that is moved to where the
// cursor is, unless a person moved it.
func (m *model) drawCells(out []cells.Row, l *live, cols int, p *pan, follow bool) {
	if l == nil || len(l.Lines) == 0 || cols < 1 {
		return
	}
	cur := l.Cursor
	if follow && !p.by {
		p.row, p.col = max(0, cur.Row-len(out)+1), 0
	}
	p.row = max(0, min(p.row, len(l.Lines)-len(out)))
	p.col = max(0, min(p.col, l.Cols-cols))
	for i := range out {
		y := p.row + i
		if y >= len(l.Lines) {
			return
		}
		span := cells.Span{From: p.col, Cols: min(cols, l.Cols-p.col), Cursor: -1, Reverse: l.Reverse}
		if cur.Visible && cur.Row == y && l.State == screens.Running && !l.Plain {
			span.Cursor = cur.Col
		}
		out[i].Line(m.colours, l.Lines[y], span)
	}
}

// lineText is the text of a row of a screen.
func lineText(l vt.Line) string {
	var b strings.Builder
	for _, r := range l.Runs {
		b.WriteString(r.Text)
	}
	return b.String()
}

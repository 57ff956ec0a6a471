package tui

import (
	"slices"
	"strconv"

	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// hint is a key and what it does.
type hint struct{ key, does string }

// body is where the parts of the picture are.
type body struct {
	top, rows  int
	list       int // columns of the list; 0: not shown
	screenLeft int
	screenCols int // 0: not shown
}

// layout decides where the parts are, with so many rows for the list and the screen.
func (m *model) layout(top, rows int) body {
	b := body{top: top, rows: rows}
	switch {
	case m.cols >= wideCols:
		b.list = min(max(m.cols*2/5, 44), 72)
		b.screenLeft, b.screenCols = b.list+1, m.cols-b.list-1
	case m.toScreen:
		b.screenCols = m.cols
	default:
		b.list = m.cols
	}
	return b
}

// picture draws everything.
func (m *model) picture() terminal.Picture {
	p := terminal.Picture{Cols: m.cols, Title: m.windowTitle()}
	if m.cols < 1 || m.rows < 1 {
		return p
	}
	notes := m.drawNotes(m.cols)
	panel, cursor := []cells.Row(nil), terminal.Cursor{}
	main := max(m.rows-2-len(notes), 1)
	v := m.top()
	if v != nil {
		if h := v.height(m); h > 0 {
			panel, cursor = v.draw(m, m.cols, min(h, main-1))
			main -= len(panel)
		}
	}
	m.body = m.layout(1, main)
	rows := []cells.Row{m.header()}
	if full := m.full(); full != nil {
		drawn, at := full.draw(m, m.cols, main)
		if full == v {
			cursor = at
			cursor.Row++
		}
		rows = append(rows, drawn...)
	} else {
		rows = append(rows, m.drawBody()...)
	}
	for len(rows) < 1+main {
		rows = append(rows, cells.Row{})
	}
	rows = rows[:1+main]
	if panel != nil {
		cursor.Row += len(rows)
	}
	rows = append(append(rows, panel...), notes...)
	rows = append(rows, m.footer())
	p.Cursor = cursor
	for i := range min(len(rows), m.rows) {
		r := &rows[i]
		p.Rows = append(p.Rows, terminal.Row{Bytes: r.String(), Cols: r.Cols(), Uneven: r.Uneven()})
	}
	return p
}

// full is the uppermost view that takes the place of the list and the screen; nil if there
// is none.
func (m *model) full() view {
	for i := len(m.onTop) - 1; i >= 0; i-- {
		if m.onTop[i].height(m) == 0 {
			return m.onTop[i]
		}
	}
	return nil
}

// drawBody draws the list and the screen side by side, or the one that is shown.
func (m *model) drawBody() []cells.Row {
	var left, right []cells.Row
	if m.body.list > 0 {
		left = m.drawList(m.body.list, m.body.rows)
	}
	if m.body.screenCols > 0 {
		right = m.drawScreen(m.body.screenLeft, m.body.screenCols, m.body.rows)
	}
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	}
	for i := range left {
		left[i].To(m.body.list)
		left[i].Add(m.theme.dim, "│")
		left[i].Join(m.body.screenLeft, &right[i])
	}
	return left
}

// header is the first row: which fleet, how many need somebody, what is wrong.
func (m *model) header() cells.Row {
	r := cells.Row{Base: m.theme.title}
	name := m.snap.Name
	if m.snap.Host != "" {
		name += " on " + m.snap.Host
	}
	r.Put("", " gc "+name+"  ", m.cols)
	switch n := len(m.snap.Attention); {
	case !m.known:
		r.Put("", "connecting…", m.cols-r.Cols())
	case n > 0:
		r.Put("", plural(len(m.snap.Agents), "agent", "agents")+", "+plural(n, "needs you", "need you"), m.cols-r.Cols())
	default:
		r.Put("", plural(len(m.snap.Agents), "agent", "agents")+", nothing needs you", m.cols-r.Cols())
	}
	if m.list.filter != "" {
		r.Put("", "  /"+m.list.filter, m.cols-r.Cols())
	}
	if m.list.state != 0 {
		r.Put("", "  only: "+states[m.list.state].name, m.cols-r.Cols())
	}
	if m.list.order != byName {
		r.Put("", "  by "+m.list.order.String(), m.cols-r.Cols())
	}
	switch {
	case m.snap.Lost != "":
		r.Put("", "  LOST "+age(m.snap.LostSince, m.now())+": "+m.snap.Lost, m.cols-r.Cols())
	case m.snap.Warning != "":
		r.Put("", "  "+m.snap.Warning, m.cols-r.Cols())
	}
	r.To(m.cols)
	return r
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// footer is the last row: the keys.
func (m *model) footer() cells.Row {
	hints := m.homeHints()
	if v := m.top(); v != nil {
		hints = v.hints(m)
	}
	var r cells.Row
	for _, h := range hints {
		if r.Cols()+cells.Width(h.key)+cells.Width(h.does)+3 > m.cols {
			break
		}
		if r.Cols() > 0 {
			r.Add("", "  ")
		}
		r.Add(m.theme.key, h.key)
		r.Add(m.theme.dim, " "+h.does)
	}
	return r
}

func (m *model) homeHints() []hint {
	var hints []hint
	if a := m.list.agent(); a != nil {
		if a.Question != nil && len(a.Question.Options) > 0 {
			hints = append(hints, hint{"1-9", "answer"})
		}
		hints = append(hints, hint{"enter", "attach"}, hint{"n", "nudge"})
	}
	if m.cols < wideCols {
		hints = append(hints, hint{"tab", map[bool]string{false: "screen", true: "list"}[m.toScreen]})
	}
	return append(hints, hint{"/", "filter"}, hint{"?", "help"}, hint{"q", "quit"}, hint{"g", "grid"}, hint{"h", "history"}, hint{"e", "events"},
		hint{"x", "explain"}, hint{"i", "interrupt"}, hint{"r", "restart"}, hint{"m", "messages"}, hint{"b", "background"})
}

// rule is a line between two parts, with a title.
func (m *model) rule(title string, cols int) cells.Row {
	var r cells.Row
	m.drawRule(&r, title, cols)
	return r
}

func (m *model) drawRule(r *cells.Row, title string, cols int) {
	if title != "" {
		r.Add(m.theme.dim, "── ")
		r.Put(m.theme.heading, title, cols-r.Cols()-2)
		r.Add("", " ")
	}
	for r.Cols() < cols {
		n := min(cols-r.Cols(), len(line)/len("─"))
		r.Add(m.theme.dim, line[:n*len("─")])
	}
}

const line = "────────────────────────────────────────────────────────────────"

// look says which live screens are shown.
func (m *model) look() {
	var want []screens.Look
	if m.attaching {
		return
	}
	if l, ok := m.full().(looks); ok {
		want = l.looks(m)
	} else if a := m.list.agent(); m.full() == nil && a != nil && (m.cols >= wideCols || m.toScreen) {
		want = []screens.Look{{ID: a.ID}}
	}
	want = slices.DeleteFunc(want, func(l screens.Look) bool { return m.isSelf(m.agent(l.ID)) })
	m.keepScreens(want)
	m.looker.set(want)
}

package tui

import (
	"cmp"
	"slices"
	"strings"

	"gascity.dev/gc/internal/fleet"
)

// order is how agents are sorted within their group.
type order int

const (
	byName order = iota
	bySince
	byActivity
	orders
)

func (o order) String() string { return [...]string{"name", "since", "activity"}[o] }

// states are the filters by state, in the order in which a key goes through them.
var states = []struct {
	name string
	has  func(a *fleet.Agent, needs bool) bool
}{
	{"all", func(*fleet.Agent, bool) bool { return true }},
	{"needs you", func(_ *fleet.Agent, needs bool) bool { return needs }},
	{"working", func(a *fleet.Agent, _ bool) bool { return a.State == "running" && a.Status == "working" }},
	{"idle", func(a *fleet.Agent, _ bool) bool {
		return a.State == "running" && (a.Status == "idle" || a.Status == "done")
	}},
	{"down", func(a *fleet.Agent, _ bool) bool { return a.State != "running" && a.State != "unknown" }},
	{"unknown", func(a *fleet.Agent, _ bool) bool { return a.State == "unknown" || a.Status == "unknown" }},
}

// entry is one row of the list: an occasion that needs somebody, an agent, or a heading.
type entry struct {
	heading string
	need    *fleet.Attention
	agent   *fleet.Agent // also of a need, unless it is gone
}

// place tells entries apart over changes of the fleet.
type place struct{ need, agent string }

func (e *entry) place() place {
	var p place
	if e.need != nil {
		p.need = e.need.ID
	}
	if e.agent != nil {
		p.agent = e.agent.ID
	}
	return p
}

// list is the attention list and the fleet, as rows of which one is selected.
type list struct {
	filter string
	state  int
	order  order

	entries  []entry
	selected int // -1: none
	top      int // the first row that is shown
	rows     int // how many are
}

// build makes the rows anew. The selection stays with its agent.
func (l *list) build(s *fleet.Snapshot) {
	was, at := l.current(), l.selected
	agents := make(map[string]*fleet.Agent, len(s.Agents))
	for i := range s.Agents {
		agents[s.Agents[i].ID] = &s.Agents[i]
	}
	l.entries = nil
	needs := map[string]bool{}
	for i := range s.Attention {
		n := &s.Attention[i]
		needs[n.Agent] = true
		a := agents[n.Agent]
		if l.textual(a, n.Agent, n.Kind, n.Text) && (a == nil || states[l.state].has(a, true)) {
			l.entries = append(l.entries, entry{need: n, agent: a})
		}
	}
	if len(l.entries) > 0 {
		l.entries = slices.Insert(l.entries, 0, entry{heading: "Needs you"})
	}
	l.addFleet(s, needs)
	l.reselect(was, at)
}

// addFleet adds the agents, grouped by rig and pool.
func (l *list) addFleet(s *fleet.Snapshot, needs map[string]bool) {
	var shown []*fleet.Agent
	for i := range s.Agents {
		if a := &s.Agents[i]; l.textual(a) && states[l.state].has(a, needs[a.ID]) {
			shown = append(shown, a)
		}
	}
	slices.SortStableFunc(shown, func(a, b *fleet.Agent) int {
		if c := cmp.Or(cmp.Compare(a.Rig, b.Rig), cmp.Compare(a.Pool, b.Pool)); c != 0 {
			return c
		}
		return l.compare(a, b)
	})
	group := "\x00"
	for _, a := range shown {
		if g := groupOf(a); g != group {
			group = g
			l.entries = append(l.entries, entry{heading: g})
		}
		l.entries = append(l.entries, entry{agent: a})
	}
}

// groupOf is the heading of an agent's group.
func groupOf(a *fleet.Agent) string {
	var parts []string
	if a.Rig != "" {
		parts = append(parts, "rig "+a.Rig)
	}
	if a.Pool != "" {
		parts = append(parts, "pool "+a.Pool)
	}
	if len(parts) == 0 {
		return "Fleet"
	}
	return strings.Join(parts, ", ")
}

func (l *list) compare(a, b *fleet.Agent) int {
	switch l.order {
	case bySince:
		if c := b.Since.Compare(a.Since); c != 0 {
			return c
		}
	case byActivity:
		if c := b.Active.Compare(a.Active); c != 0 {
			return c
		}
	}
	return naturally(a.Name, b.Name)
}

// naturally compares names so that worker-2 comes before worker-10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// textual reports whether every word of the filter is in what is known of an agent, or in
// one of the other texts.
func (l *list) textual(a *fleet.Agent, more ...string) bool {
	if l.filter == "" {
		return true
	}
	if a != nil {
		more = append(more, a.Name, a.Rig, a.Pool, a.Provider, a.Host, a.State, doing(a), a.Title, a.LastLine, a.Description)
	}
	all := strings.ToLower(strings.Join(more, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(l.filter)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// current is the place of the selected entry.
func (l *list) current() place {
	if l.selected < 0 || l.selected >= len(l.entries) {
		return place{}
	}
	return l.entries[l.selected].place()
}

// agent is the selected agent; nil without one.
func (l *list) agent() *fleet.Agent {
	if l.selected < 0 || l.selected >= len(l.entries) {
		return nil
	}
	return l.entries[l.selected].agent
}

// need is the selected occasion; nil without one.
func (l *list) need() *fleet.Attention {
	if l.selected < 0 || l.selected >= len(l.entries) {
		return nil
	}
	return l.entries[l.selected].need
}

// reselect selects the entry of a place, else the same agent, else what is now where it was.
func (l *list) reselect(was place, at int) {
	for _, same := range []func(p place) bool{
		func(p place) bool { return p == was },
		func(p place) bool { return p.agent == was.agent && was.agent != "" && p.need == "" },
	} {
		if i := slices.IndexFunc(l.entries, func(e entry) bool { return e.heading == "" && same(e.place()) }); i >= 0 {
			l.selected = i
			return
		}
	}
	l.selected = min(max(at, 0), len(l.entries)-1)
	l.move(0)
}

// choose selects an agent in the fleet.
func (l *list) choose(id string) {
	l.reselect(place{agent: id}, l.selected)
}

// move moves the selection by so many entries; headings are passed over.
func (l *list) move(by int) {
	at := min(max(l.selected+by, 0), len(l.entries)-1)
	step := 1
	if by < 0 {
		step = -1
	}
	for range 2 {
		for i := at; i >= 0 && i < len(l.entries); i += step {
			if l.entries[i].heading == "" {
				l.selected = i
				return
			}
		}
		step = -step
	}
	l.selected = -1
}

// scroll makes the selection visible in so many rows.
func (l *list) scroll(rows int) {
	l.rows = rows
	if l.selected >= 0 {
		first := l.selected
		if first > 0 && l.entries[first-1].heading != "" {
			first-- // with its heading
		}
		l.top = min(l.top, first)
		l.top = max(l.top, l.selected-rows+1)
	}
	l.top = max(0, min(l.top, len(l.entries)-rows))
}

package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// gridRate is how often a second a screen of the grid changes at most.
const gridRate = 10

// The smallest tile that shows anything, and how many there are side by side at most.
const (
	tileCols, tileRows = 24, 6
	maxAcross          = 6
)

// grid shows the live screens of many agents, those of the list in its order.
type grid struct {
	across   int // tiles side by side, and one above the other; 0: all that fit
	selected string
	top      int // the first row of tiles
	columns  int
	rows     int
}

func newGrid(m *model) *grid {
	g := &grid{across: 2}
	if a := m.list.agent(); a != nil {
		g.selected = a.ID
	}
	return g
}

// agents are those of the list that run, each once.
func (g *grid) agents(m *model) []*fleet.Agent {
	var out []*fleet.Agent
	seen := map[string]bool{}
	for i := range m.list.entries {
		if a := m.list.entries[i].agent; a != nil && !seen[a.ID] && m.list.entries[i].need == nil {
			seen[a.ID] = true
			out = append(out, a)
		}
	}
	return out
}

// shape says how many tiles there are.
func (g *grid) shape(cols, rows, agents int) {
	across := g.across
	if across == 0 {
		across = maxAcross
	}
	g.columns = max(1, min(across, cols/tileCols))
	g.rows = max(1, min(across, rows/tileRows))
	if g.across == 0 { // not more than there are agents
		for g.columns > 1 && (g.columns-1)*g.rows >= agents {
			g.columns--
		}
		for g.rows > 1 && (g.rows-1)*g.columns >= agents {
			g.rows--
		}
	}
}

// shown are the agents of the tiles.
func (g *grid) shown(m *model) []*fleet.Agent {
	all := g.agents(m)
	g.shape(m.cols, m.rows-2, len(all))
	at := max(slices.IndexFunc(all, func(a *fleet.Agent) bool { return a.ID == g.selected }), 0)
	if len(all) > 0 {
		g.selected = all[at].ID
	}
	row := at / g.columns
	g.top = max(min(g.top, row), row-g.rows+1)
	from := g.top * g.columns
	return all[min(from, len(all)):min(from+g.columns*g.rows, len(all))]
}

func (g *grid) looks(m *model) []screens.Look {
	var want []screens.Look
	for _, a := range g.shown(m) {
		want = append(want, screens.Look{ID: a.ID, Rate: gridRate})
	}
	return want
}

func (g *grid) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	switch key {
	case "esc", "q", "g":
		m.list.choose(g.selected)
		m.close()
	case "left", "h":
		g.move(m, -1)
	case "right", "l", "tab":
		g.move(m, 1)
	case "up", "k":
		g.move(m, -g.columns)
	case "down", "j":
		g.move(m, g.columns)
	case "pgup":
		g.move(m, -g.columns*g.rows)
	case "pgdown", "space":
		g.move(m, g.columns*g.rows)
	case "+", "=":
		g.density(1)
	case "-":
		g.density(-1)
	case "0":
		g.across = 0
	case "/", "f", "o":
		return m.home(k)
	default:
		if a := m.agent(g.selected); a != nil && key != "?" {
			m.list.choose(g.selected)
			return m.agentKey(a, key)
		}
		m.open(newHelp())
	}
	return nil
}

// density changes how many tiles there are.
func (g *grid) density(by int) {
	if g.across == 0 {
		g.across = max(g.columns, g.rows)
	}
	g.across = min(max(g.across+by, 1), maxAcross)
}

func (g *grid) move(m *model, by int) {
	all := g.agents(m)
	if len(all) == 0 {
		return
	}
	at := slices.IndexFunc(all, func(a *fleet.Agent) bool { return a.ID == g.selected })
	g.selected = all[max(0, min(at+by, len(all)-1))].ID
}

func (*grid) height(*model) int { return 0 }

func (g *grid) draw(m *model, cols, rows int) ([]cells.Row, terminal.Cursor) {
	shown := g.shown(m)
	width, height := cols/g.columns, rows/g.rows
	out := make([]cells.Row, rows)
	for i, a := range shown {
		col, y := i%g.columns*width, i/g.columns*height
		tile := g.tile(m, a, col, width-1, height)
		for j := range tile {
			out[y+j].Join(col, &tile[j])
			if i%g.columns < g.columns-1 {
				out[y+j].To(col + width - 1)
				out[y+j].Add(m.theme.dim, "│")
			}
		}
	}
	if len(shown) == 0 {
		out[0].Put(m.theme.dim, m.nothing(), cols)
	}
	return out, terminal.Cursor{}
}

// tile draws one agent: its name and the end of its screen.
func (g *grid) tile(m *model, a *fleet.Agent, left, cols, rows int) []cells.Row {
	out := make([]cells.Row, rows)
	for i := range out {
		out[i] = cells.At(left)
	}
	mark, look := m.theme.mark(a)
	if a.ID == g.selected {
		out[0].Base = m.theme.selected
	}
	out[0].Put(look, mark+" ", cols)
	out[0].Put(m.theme.bold, a.Name+" ", cols-out[0].Cols())
	out[0].Put(look, doing(a), cols-out[0].Cols())
	out[0].Fill(m.theme.dim, cols)
	var p pan
	m.drawCells(out[1:], m.screens[a.ID], cols, &p, true)
	return out
}

func (*grid) hints(*model) []hint {
	return []hint{{"arrows", "select"}, {"enter", "attach"}, {"n", "nudge"}, {"+ - 0", "more, fewer, all"}, {"esc", "back"}, {"1-9", "answer"}}
}

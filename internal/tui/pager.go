package tui

import (
	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// scroller is which rows of many are shown. Keys are those of less.
type scroller struct {
	top  int
	rows int  // that are shown
	all  int  // that there are
	end  bool // stays at the end as rows are added
}

// key moves; false if the key does not.
func (s *scroller) key(key string) bool {
	switch key {
	case "up", "k":
		s.by(-1)
	case "down", "j", "enter":
		s.by(1)
	case "pgup", "ctrl+b", "b":
		s.by(-max(s.rows-1, 1))
	case "pgdown", "ctrl+f", "space":
		s.by(max(s.rows-1, 1))
	case "home", "<":
		s.by(-s.all)
	case "end", "G", ">":
		s.by(s.all)
	default:
		return false
	}
	return true
}

func (s *scroller) by(n int) {
	s.top = max(0, min(s.top+n, s.all-s.rows))
	s.end = s.top >= s.all-s.rows
}

// fit takes how many rows there are, and how many can be shown.
func (s *scroller) fit(all, rows int) {
	s.all, s.rows = all, rows
	if s.end {
		s.top = all - rows
	}
	s.top = max(0, min(s.top, all-rows))
}

// pager shows rows of text.
type pager struct {
	title string
	lines func(m *model, cols int) []cells.Row
	scroller
}

func (p *pager) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	if !p.scroller.key(k.String()) && (quitKeys(k) || k.String() == "?") {
		m.close()
	}
	return nil
}

func (*pager) height(*model) int { return 0 }

func (p *pager) draw(m *model, cols, rows int) ([]cells.Row, terminal.Cursor) {
	lines := p.lines(m, cols)
	p.fit(len(lines), rows-1)
	out := []cells.Row{m.rule(p.title, cols)}
	return append(out, lines[p.top:min(p.top+p.rows, len(lines))]...), terminal.Cursor{}
}

func (*pager) hints(*model) []hint { return []hint{{"↑↓", "scroll"}, {"esc", "back"}} }

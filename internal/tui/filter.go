package tui

import (
	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/textinput"

	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// filter is the line in which the filter of the list is written; it counts at once.
type filter struct {
	input textinput.Model
	was   string
}

func (m *model) openFilter() tea.Cmd {
	f := &filter{input: newInput("/", m.list.filter), was: m.list.filter}
	m.open(f)
	return f.input.Focus()
}

// newInput returns a line to write in, with the terminal's own cursor.
func newInput(prompt, text string) textinput.Model {
	in := textinput.New()
	in.Prompt = prompt
	in.SetVirtualCursor(false)
	in.SetStyles(textinput.Styles{})
	in.SetValue(text)
	in.CursorEnd()
	return in
}

// drawInput draws a line to write in, and says where its cursor is.
func drawInput(in *textinput.Model, cols int) (cells.Row, terminal.Cursor) {
	in.SetWidth(max(cols-cells.Width(in.Prompt)-1, 1))
	var r cells.Row
	r.Put("", plain(in.View()), cols)
	at := terminal.Cursor{}
	if c := in.Cursor(); c != nil {
		at = terminal.Cursor{Shown: true, Col: min(c.X, cols-1)}
	}
	return r, at
}

func (f *filter) key(m *model, k tea.KeyPressMsg) (cmd tea.Cmd) {
	switch k.String() {
	case "enter":
		m.close()
		return nil
	case "esc":
		m.close()
		f.input.SetValue(f.was)
	case "up", "down":
		m.listKey(k.String())
		return nil
	default:
		f.input, cmd = f.input.Update(k)
	}
	f.apply(m)
	return cmd
}

func (f *filter) paste(m *model, p tea.PasteMsg) (cmd tea.Cmd) {
	f.input, cmd = f.input.Update(p)
	f.apply(m)
	return cmd
}

func (f *filter) apply(m *model) {
	m.list.filter = f.input.Value()
	m.list.build(&m.snap)
	m.pan.follow(m.list.agent())
}

func (*filter) height(*model) int { return 1 }

func (f *filter) draw(_ *model, cols, _ int) ([]cells.Row, terminal.Cursor) {
	r, at := drawInput(&f.input, cols)
	return []cells.Row{r}, at
}

func (*filter) hints(*model) []hint {
	return []hint{{"enter", "keep"}, {"esc", "undo"}, {"↑↓", "select"}}
}

package tui

import (
	tea "charm.land/bubbletea/v2"
)

// wheelRows is how far one step of the wheel moves.
const wheelRows = 3

// mouse selects in the list, attaches at the second click, and scrolls what is below it.
func (m *model) mouse(msg tea.MouseMsg) tea.Cmd {
	at := msg.Mouse()
	switch msg.(type) {
	case tea.MouseWheelMsg:
		return m.wheel(at)
	case tea.MouseClickMsg:
		if at.Button == tea.MouseLeft && m.top() == nil {
			m.passNotes()
			return m.click(at)
		}
	}
	return nil
}

func (m *model) click(at tea.Mouse) tea.Cmd {
	row := at.Y - m.body.top
	if row < 0 || row >= m.body.rows {
		return nil
	}
	if at.X >= m.body.list {
		m.toScreen = m.body.screenCols > 0
		return nil
	}
	m.toScreen = false
	i := m.list.top + row
	if i >= len(m.list.entries) || m.list.entries[i].heading != "" {
		return nil
	}
	if i == m.list.selected {
		if a := m.list.agent(); a != nil {
			return m.attach(a)
		}
		return nil
	}
	m.list.selected = i
	m.pan.follow(m.list.agent())
	return nil
}

func (m *model) wheel(at tea.Mouse) tea.Cmd {
	by, key := wheelRows, tea.KeyPressMsg{Code: tea.KeyDown}
	switch at.Button {
	case tea.MouseWheelUp:
		by, key = -wheelRows, tea.KeyPressMsg{Code: tea.KeyUp}
	case tea.MouseWheelDown:
	default:
		return nil
	}
	switch v := m.top(); {
	case v != nil:
		var cmd tea.Cmd
		for range wheelRows {
			cmd = tea.Batch(cmd, v.key(m, key))
		}
		return cmd
	case at.X >= m.body.list || m.body.list == 0:
		m.panBy(by, 0)
	default:
		m.list.move(by)
		m.pan.follow(m.list.agent())
	}
	return nil
}

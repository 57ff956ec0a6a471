package tui

import (
	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
)

// home is a key for the list, or for the screen beside it.
func (m *model) home(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	if m.toScreen && m.screenKey(key) {
		return nil
	}
	if m.listKey(key) {
		return nil
	}
	if cmd, ok := m.globalKey(key); ok {
		return cmd
	}
	a := m.list.agent()
	if a == nil {
		return nil
	}
	return m.agentKey(a, key)
}

// listKey is a key that moves in the list, or changes what it shows.
func (m *model) listKey(key string) bool {
	switch key {
	case "up", "k":
		m.list.move(-1)
	case "down", "j":
		m.list.move(1)
	case "pgup", "ctrl+b":
		m.list.move(-max(m.list.rows-1, 1))
	case "pgdown", "ctrl+f":
		m.list.move(max(m.list.rows-1, 1))
	case "home":
		m.list.move(-len(m.list.entries))
	case "end", "G":
		m.list.move(len(m.list.entries))
	case "o":
		m.list.order = (m.list.order + 1) % orders
		m.list.build(&m.snap)
	case "f":
		m.list.state = (m.list.state + 1) % len(states)
		m.list.build(&m.snap)
	case "tab":
		m.toScreen = !m.toScreen
	case "right":
		m.toScreen = true
	case "left":
		m.toScreen = false
	case "esc":
		m.back()
	default:
		return false
	}
	m.pan.follow(m.list.agent())
	return true
}

// back undoes one thing: a note, the screen, a filter.
func (m *model) back() {
	switch {
	case len(m.notes) > 0:
		m.notes = m.notes[1:]
	case m.toScreen:
		m.toScreen = false
	case m.list.filter != "" || m.list.state != 0:
		m.list.filter, m.list.state = "", 0
		m.list.build(&m.snap)
	}
}

// globalKey is a key that needs no agent.
func (m *model) globalKey(key string) (tea.Cmd, bool) {
	switch key {
	case "q":
		return tea.Quit, true
	case "?":
		m.open(newHelp())
	case "/":
		return m.openFilter(), true
	case "g":
		m.open(newGrid(m))
	case "e":
		return m.openEvents(), true
	case "b":
		return m.openCommands(), true
	case "m":
		m.open(&messages{})
	default:
		return nil, false
	}
	return nil, true
}

// agentKey is a key about the selected agent.
func (m *model) agentKey(a *fleet.Agent, key string) tea.Cmd {
	switch key {
	case "enter":
		return m.attach(a)
	case "n":
		return m.openComposer(a)
	case "a":
		return m.openAnswer(a)
	case "h":
		return m.openHistory(a)
	case "x":
		return m.openExplain(a)
	case "1", "2", "3", "4", "5", "6", "7", "8", "9":
		return m.choose(a, int(key[0]-'1'))
	}
	if act, ok := actionKeys[key]; ok {
		return m.act(a, act)
	}
	return nil
}

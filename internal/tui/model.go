package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// wideCols is the width from which the list and the screen are shown side by side.
const wideCols = 100

// model is all that is shown. Only Bubble Tea's loop uses it.
type model struct {
	source  fleet.Fleet
	colours *cells.Colours
	theme   theme
	now     func() time.Time
	looker  *looker
	attach  func(*fleet.Agent) tea.Cmd
	suspend tea.Cmd // stops the program until the shell continues it
	tell    teller

	self, selfName string // id and name of the session that this program runs in; "" outside of one

	cols, rows int
	snap       fleet.Snapshot
	known      bool // a snapshot has come
	screens    map[string]*live
	away       string // why there are no live screens

	attaching bool // somebody else has the terminal

	list     list
	body     body   // where the picture was put, for the mouse
	onTop    []view // the last one has the keys
	notes    []note
	drafts   map[string]string // messages that were not sent, by agent
	toScreen bool              // the screen has the keys, and is what a narrow terminal shows
	pan      pan
}

// view is something on top of the list and the screen.
type view interface {
	// key is a key for the view.
	key(m *model, k tea.KeyPressMsg) tea.Cmd
	// height is how many rows the view needs below the list and the screen; 0 means that
	// it takes their place.
	height(m *model) int
	// draw returns the rows of the view, and where the cursor is.
	draw(m *model, cols, rows int) ([]cells.Row, terminal.Cursor)
	// hints are the keys of the view.
	hints(m *model) []hint
}

// receiver is a view that wants messages other than keys.
type receiver interface {
	receive(m *model, msg tea.Msg) tea.Cmd
}

// closer is a view with something to end.
type closer interface{ close() }

// looks is a view that shows live screens of its own.
type looks interface {
	looks(m *model) []screens.Look
}

// Messages.
type (
	snapshotMsg fleet.Snapshot
	screenMsg   screens.Update
	awayMsg     string // no live screens, and why
	ageMsg      struct{}
	// doneMsg is the outcome of something that was done.
	doneMsg struct {
		text   string
		err    error
		sticky bool
		bad    bool
	}
)

func newModel(source fleet.Fleet, colours *cells.Colours) *model {
	return &model{
		source: source, colours: colours, theme: newTheme(colours.Any()), now: time.Now, looker: newLooker(),
		screens: map[string]*live{}, drafts: map[string]string{}, list: list{selected: -1},
	}
}

// update takes one message.
func (m *model) update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.cols, m.rows = msg.Width, msg.Height
	case snapshotMsg:
		cmd = m.setSnapshot(fleet.Snapshot(msg))
	case screenMsg:
		m.away = ""
		m.setScreen(screens.Update(msg))
	case awayMsg:
		m.away = string(msg)
	case doneMsg:
		m.done(msg)
	case sentMsg:
		m.wasSent(msg)
	case attachedMsg:
		m.attached(msg)
	case ageMsg:
		cmd = nextAge()
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		cmd = m.paste(msg)
	case tea.MouseMsg:
		cmd = m.mouse(msg)
	}
	for _, v := range m.onTop {
		if r, ok := v.(receiver); ok {
			cmd = tea.Batch(cmd, r.receive(m, msg))
		}
	}
	m.look()
	return cmd
}

// nextAge comes when ages may be shown differently.
func nextAge() tea.Cmd {
	return tea.Tick(ageStep, func(time.Time) tea.Msg { return ageMsg{} })
}

func (m *model) setSnapshot(s fleet.Snapshot) tea.Cmd {
	first := !m.known
	if m.self != "" { // what this program shows looks like questions
		s.Attention = slices.DeleteFunc(slices.Clone(s.Attention), func(n fleet.Attention) bool {
			return slices.ContainsFunc(s.Agents, func(a fleet.Agent) bool { return a.ID == n.Agent && m.isSelf(&a) })
		})
	}
	m.snap, m.known = s, true
	m.list.build(&m.snap)
	if first {
		m.list.selected = -1
		m.list.move(1)
	}
	return m.tell.attention(&m.snap)
}

// agent returns an agent by its id; nil if it is gone.
func (m *model) agent(id string) *fleet.Agent {
	for i := range m.snap.Agents {
		if m.snap.Agents[i].ID == id {
			return &m.snap.Agents[i]
		}
	}
	return nil
}

// top is the view with the keys; nil for the list and the screen.
func (m *model) top() view {
	if len(m.onTop) == 0 {
		return nil
	}
	return m.onTop[len(m.onTop)-1]
}

func (m *model) open(v view) { m.onTop = append(m.onTop, v) }

// close ends the view with the keys.
func (m *model) close() {
	if v := m.top(); v != nil {
		if c, ok := v.(closer); ok {
			c.close()
		}
		m.onTop = m.onTop[:len(m.onTop)-1]
	}
}

// key is a key for the view on top, else for the list or the screen.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	m.passNotes()
	switch k.String() {
	case "ctrl+c":
		if m.top() == nil {
			return tea.Quit
		}
		m.close()
		return nil
	case "ctrl+z":
		return m.suspend
	case "ctrl+l":
		return func() tea.Msg { return forgetMsg{} }
	}
	if v := m.top(); v != nil {
		return v.key(m, k)
	}
	return m.home(k)
}

// forgetMsg asks for everything to be painted anew.
type forgetMsg struct{}

// paste is a text for the view on top that takes one.
func (m *model) paste(p tea.PasteMsg) tea.Cmd {
	if v, ok := m.top().(interface {
		paste(m *model, p tea.PasteMsg) tea.Cmd
	}); ok {
		return v.paste(m, p)
	}
	return nil
}

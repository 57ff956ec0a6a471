package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
)

// maxEvents is how many are kept while they are shown.
const maxEvents = 2000

// eventMsg is an event, or why there are none any more.
type eventMsg struct {
	of *events
	fleet.Event
	err error
}

// events shows what happens.
type events struct {
	pager
	list  []fleet.Event
	lost  string
	next  chan eventMsg
	ended context.CancelFunc
}

func (m *model) openEvents() tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	e := &events{pager: pager{title: "Events", scroller: scroller{end: true}}, next: make(chan eventMsg), ended: cancel}
	e.lines = e.text
	m.open(e)
	source := m.source
	return tea.Batch(guarded(func() tea.Msg { e.follow(ctx, source); return nil }), e.read(ctx))
}

// follow gets events until the view is closed.
func (e *events) follow(ctx context.Context, source fleet.Fleet) {
	defer close(e.next)
	last := ""
	send := func(msg eventMsg) {
		select {
		case e.next <- msg:
		case <-ctx.Done():
		}
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := source.Events(ctx, last, func(ev fleet.Event) error {
			last, pause = ev.ID, firstPause
			send(eventMsg{of: e, Event: ev})
			return ctx.Err()
		})
		if err != nil && ctx.Err() == nil {
			send(eventMsg{of: e, err: err})
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// read returns the next event.
func (e *events) read(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		select {
		case msg, ok := <-e.next:
			if ok {
				return msg
			}
		case <-ctx.Done():
		}
		return nil
	}
}

func (e *events) receive(_ *model, msg tea.Msg) tea.Cmd {
	ev, ok := msg.(eventMsg)
	if !ok || ev.of != e {
		return nil
	}
	if ev.err != nil {
		e.lost = ev.err.Error()
	} else {
		e.lost = ""
		if e.list = append(e.list, ev.Event); len(e.list) > maxEvents {
			e.list = append(e.list[:0], e.list[len(e.list)-maxEvents/2:]...)
		}
	}
	return e.read(context.Background())
}

func (e *events) close() { e.ended() }

func (e *events) text(m *model, cols int) []cells.Row {
	rows := make([]cells.Row, 0, len(e.list)+1)
	for i := range e.list {
		ev := &e.list[i]
		var r cells.Row
		r.Put(m.theme.dim, ev.Time.Local().Format("15:04:05")+" ", cols)
		m.column(&r, m.theme.heading, ev.Kind, 20, cols)
		m.column(&r, "", ev.Agent, nameCols(cols), cols)
		text := ev.Why
		if ev.Detail != "" {
			text += " " + ev.Detail
		}
		if ev.By != "" {
			text += " (by " + ev.By + ")"
		}
		r.Put("", text, cols-r.Cols())
		rows = append(rows, r)
	}
	var r cells.Row
	switch {
	case e.lost != "":
		r.Put(m.theme.bad, e.lost, cols)
	case len(e.list) == 0:
		r.Put(m.theme.dim, "nothing has happened yet", cols)
	default:
		return rows
	}
	return append(rows, r)
}

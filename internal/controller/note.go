package controller

import (
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// note puts an event in the sequence and a line in the log.
func (l *loop) note(e api.Event) {
	e.Time = time.Now().UTC()
	e = l.book.Append(e)
	l.feed.Add(e)
	if l.o.Event != nil {
		l.o.Event(e)
		return
	}
	line := e.Kind
	if e.Agent != "" {
		line = e.Agent + ": " + line
	} else if e.Session != "" {
		line = e.Session + ": " + line
	}
	if e.Why != "" {
		line += " (" + e.Why + ")"
	}
	if e.Exit != nil {
		line += ", " + exitText(e.Exit)
	}
	if e.Detail != "" {
		line += ", " + e.Detail
	}
	l.logf("%s", line)
}

// noteAgent is note about a member.
func (l *loop) noteAgent(m *member, kind, why, detail string) {
	l.note(api.Event{Kind: kind, Agent: m.seen.Agent, Session: m.seen.Session, Why: why, Detail: detail})
}

// noteEnd is note about the end of a member's session.
func (l *loop) noteEnd(m *member, kind string, exit *runtime.Exit, screen, detail string) {
	l.note(api.Event{Kind: kind, Agent: m.seen.Agent, Session: m.seen.Session, Exit: exit, Screen: screen, Detail: detail})
}

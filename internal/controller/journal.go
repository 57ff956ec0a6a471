package controller

import (
	"fmt"
	"io"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// journal records what happens: the city's sequence of events, for its followers
// too, and the log.
type journal struct {
	store *session.Store
	feed  api.Feed
	event func(api.Event)                   // Options.Event
	place func(host, session string) string // Options.Place
	// changes gets a value, if it has room, when a person may have to be told something.
	changes chan struct{}
	w       io.Writer // Options.Log; may be nil
}

// placed is where on a host a session is.
func (j *journal) placed(host, session string) string {
	if host == "" || j.place == nil {
		return host
	}
	return j.place(host, session)
}

// note adds an event to the sequence and a line to the log.
func (j *journal) note(e api.Event) {
	e.Time, e.Host = time.Now().UTC(), j.placed(e.Host, e.Session)
	e = j.store.Append(e)
	j.feed.Add(e)
	j.changed(e)
	if j.event != nil {
		j.event(e)
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
		line += ", " + e.Exit.Text()
	}
	if e.Detail != "" {
		line += ", " + e.Detail
	}
	if e.By != "" {
		line += ", by " + e.By
	}
	j.logf("%s", line)
}

// noteAgent is note for an agent.
func (j *journal) noteAgent(ag *agentState, kind, why, detail string) {
	j.note(api.Event{Kind: kind, Agent: ag.seen.Agent, Session: ag.seen.Session, SessionID: ag.seen.Record.ID, Host: ag.host(), Why: why, Detail: detail})
}

// noteEnd is note for the end of an agent's session.
func (j *journal) noteEnd(ag *agentState, kind string, exit *runtime.Exit, screen, detail string) {
	j.note(api.Event{Kind: kind, Agent: ag.seen.Agent, Session: ag.seen.Session, SessionID: ag.seen.Record.ID, Host: ag.host(), Exit: exit, Screen: screen, Detail: detail})
}

func (j *journal) logf(format string, args ...any) {
	if j.w == nil {
		return
	}
	line := time.Now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + fmt.Sprintf(format, args...)
	fmt.Fprintln(j.w, line)
}

package controller

import (
	"time"

	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// Event is one thing that happened in the city; see [session.Event].
type Event = session.Event

// Kinds of events.
const (
	EventController     = "controller"
	EventConfigReloaded = "config-reloaded"
	EventConfigRejected = "config-rejected"
	EventPool           = "pool"
	EventStarting       = "starting"
	EventStarted        = "started"
	EventAdopted        = "adopted"
	EventStartFailed    = "start-failed"
	EventWarning        = "warning"  // a step of a start went wrong, and the start went on
	EventAccepted       = "accepted" // a start-up dialog was answered: its name and kind, the option, the question
	EventExited         = "exited"   // ended as asked for, or a one_shot
	EventCrashed        = "crashed"
	EventQuarantined    = "quarantined"
	EventZombie         = "zombie"
	EventDraining       = "draining"
	EventDrainCancelled = "drain-cancelled"
	EventStopping       = "stopping"
	EventRelaunched     = "relaunched"
	EventOrphan         = "orphan"
	EventForeign        = "foreign"
	EventNudge          = "nudge"
	EventWait           = "wait"
	EventCommand        = "command" // the end of a background command and its owner
)

// WhyEnds is the Why of the last event of a controller.
const WhyEnds = "ends"

// note puts an event in the sequence and a line in the log.
func (l *loop) note(e Event) {
	e.Time = time.Now().UTC()
	e = l.book.Append(e)
	l.feed.add(e)
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
	l.note(Event{Kind: kind, Agent: m.seen.Agent, Session: m.seen.Session, Why: why, Detail: detail})
}

// noteEnd is note about the end of a member's session.
func (l *loop) noteEnd(m *member, kind string, exit *runtime.Exit, screen, detail string) {
	l.note(Event{Kind: kind, Agent: m.seen.Agent, Session: m.seen.Session, Exit: exit, Screen: screen, Detail: detail})
}

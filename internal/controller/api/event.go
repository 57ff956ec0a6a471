package api

import "gascity.dev/gc/internal/session"

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
	EventWarning        = "warning"  // a step of a start failed, and the start went on
	EventAccepted       = "accepted" // gc answered a start-up dialog: its name and kind, the option, the question
	EventExited         = "exited"   // ended on request, or a one_shot
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
	EventCommand        = "command"     // a background command's end and its owner
	EventTurn           = "acp.turn"    // a turn of an agent over ACP ended: Turn, Usage
	EventStatus         = "status"      // what the agent does changed: Why is the new state
	EventQuestion       = "question"    // Why is "asked", or "gone" for one that was not seen answered
	EventAnswered       = "answered"    // its question was answered: Detail, By
	EventInterrupted    = "interrupted" // By
	EventOutbox         = "outbox"      // a message from another machine: Why is "refused"
	EventNotify         = "notify"      // the command of [notify] failed: Detail
	EventMail           = "mail"        // Why is "sent", "told" or "done"; By
)

// EventKinds are all kinds, in the order of this file.
var EventKinds = []string{
	EventController, EventConfigReloaded, EventConfigRejected, EventPool, EventStarting, EventStarted, EventAdopted,
	EventStartFailed, EventWarning, EventAccepted, EventExited, EventCrashed, EventQuarantined, EventZombie, EventDraining,
	EventDrainCancelled, EventStopping, EventRelaunched, EventOrphan, EventForeign, EventNudge, EventWait, EventCommand,
	EventTurn, EventStatus, EventQuestion, EventAnswered, EventInterrupted, EventOutbox, EventNotify, EventMail,
}

// WhyEnds is the Why of a controller's last event.
const WhyEnds = "ends"

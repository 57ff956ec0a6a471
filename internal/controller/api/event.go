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
	EventCommand        = "command"  // a background command's end and its owner
	EventTurn           = "acp.turn" // a turn of an agent over ACP ended: Turn, Usage
)

// WhyEnds is the Why of a controller's last event.
const WhyEnds = "ends"

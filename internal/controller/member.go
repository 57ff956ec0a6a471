package controller

import (
	"context"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// member is one session the controller deals with.
type member struct {
	spec        *agent.Spec // nil: not in config
	left        *agent.Spec // what spec was before
	seen        plan.Seen
	version     int    // changes when an operation begins or ends
	op          string // the operation in flight, for status
	since       time.Time
	state       api.State          // as last shown, to know since when
	attempts    int                // starts tried
	intended    bool               // the end that comes was asked for
	exitSeen    bool               // an exit event came during an operation
	exit        *runtime.Exit      // what it said of the incarnation on record
	over        chan struct{}      // opSettle, opStop: closed when the session has ended
	foreign     bool               // somebody else's session has the name
	noWarm      bool               // Relaunch is unsupported for it
	idle        bool               // it was seen idle
	waitsWith   string             // the nudge that waits for it to be idle
	stopWaiting context.CancelFunc // ends that wait
	delivering  bool               // a nudge waits for it to be idle, or is typed
	tellAt      time.Time          // ends of background commands wait until then
	idleOf      string             // by its session id: who is waited for, or was seen idle

	doing      runtime.SessionActivity // while a status is made
	lastSeen   time.Time               // LastActivity as the backend said it
	pushed     bool                    // its end is told by an event
	watching   bool                    // the backend tells when its program is gone, see watchPrograms
	watchAt    time.Time               // not before this
	notStarted string                  // why a start was put off
	attended   string                  // the session id whose first idle is waited for
	watched    string                  // the session id that is watched for a question nobody answers
	warning    string                  // of the newest start: what went wrong in a step, and did not end it
	runs       string                  // the agent that runs in it, when that is another than seen.Agent
	spared     time.Time               // when its last drain was taken back
	drainLimit time.Duration           // once it is no longer wanted; 0 = the city's
	queryErr   string
}

func (m *member) oneShot() bool {
	return m.spec != nil && m.spec.Resolved.Lifecycle == runtime.OneShot
}

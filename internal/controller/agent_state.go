package controller

import (
	"context"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// member is one session that the controller deals with: of an agent, or one of the
// city's that the config does not want.
type agentState struct {
	spec       *agent.Spec // nil: not in the config
	left       *agent.Spec // what spec was before
	seen       plan.Seen
	foreign    bool          // the session of its name is not this city's
	queryErr   string        // why the last query failed
	drainLimit time.Duration // once it is no longer wanted; 0 = the city's
	undrained  time.Time     // when its last drain was cancelled

	op     operation
	start  startState
	shown  shownState
	watch  watches
	typing typing
}

// operation is what is being done to a session: one thing at a time.
type operation struct {
	name     string        // "": nothing
	version  int           // changes when an operation begins or ends
	intended bool          // the end that comes was asked for
	exitSeen bool          // an exit event came during the operation
	exit     *runtime.Exit // what it said of the incarnation on record
	over     chan struct{} // opConfirm, opStop: closed when the session has ended
}

// startState is what became of the starts.
type startState struct {
	attempts int
	pushed   bool   // an event tells of the session's end
	noWarm   bool   // it cannot be relaunched
	putOff   string // why the newest start was not begun
	warning  string // of the newest start: which step failed without ending it
}

// shownState is for the status.
type shownState struct {
	state    api.State               // as last shown
	since    time.Time               // when it came to be that
	activity runtime.SessionActivity // only while a status is made
}

// watches are the questions to the backend that are open, by the id of the session
// that they are about.
type watches struct {
	firstIdle    string    // waited for after a start
	blocked      string    // watched for a question that nobody answers
	idleOf       string    // waited for to be idle, or seen so
	idle         bool      // idleOf was seen to be idle
	program      bool      // the backend reports the end of its program
	programAt    time.Time // do not ask for that before
	lastActivity time.Time // as the backend reported it
}

// typing is the message that is on its way to the agent.
type typing struct {
	busy      bool               // one waits for the agent to be idle, or is being typed
	nudge     string             // the nudge that waits
	cancel    context.CancelFunc // ends that wait
	notBefore time.Time          // completions wait until then
}

func (ag *agentState) oneShot() bool {
	return ag.spec != nil && ag.spec.Resolved.Lifecycle == runtime.OneShot
}

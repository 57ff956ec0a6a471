package controller

import (
	"context"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// agentState is what is known about one session: an agent's, or one of the
// city's that the config does not want.
type agentState struct {
	spec       *agent.Spec // nil: not in the config
	left       *agent.Spec // the last spec, once spec is nil
	seen       plan.Seen
	foreign    bool          // the session belongs to someone else
	queryErr   string        // why the last query failed
	drainLimit time.Duration // for a drain once it is no longer wanted; 0 = the city's
	undrained  time.Time     // when its last drain was cancelled

	op     operation
	start  startState
	shown  shownState
	watch  watches
	typing typing
}

// operation is the operation in flight on a session, at most one.
type operation struct {
	name     string        // "": nothing
	version  int           // changes when an operation begins or ends
	intended bool          // the end to come was requested
	exitSeen bool          // an exit event arrived during the operation
	exit     *runtime.Exit // the exit of the incarnation on record
	exited   chan struct{} // opConfirm, opStop: closed by the exit event
}

// startState is the outcome of starts.
type startState struct {
	attempts int
	pushed   bool   // the backend sends an event when the session ends
	noWarm   bool   // it cannot be relaunched
	putOff   string // why the newest start was put off; "" if it was not
	warning  string // a step of the newest start that failed without ending it
}

// shownState is kept for the status.
type shownState struct {
	state    api.State               // as last shown
	since    time.Time               // since when it has been so
	activity runtime.SessionActivity // only while a status is made
}

// watches are the long queries in flight. Strings are the id of the session that
// they are about.
type watches struct {
	firstIdle    string    // waiting for the first idle after a start
	turns        string    // its turns are followed
	blocked      string    // watched for an unanswered question
	idleOf       string    // waiting for idle, or idle if idle is set
	idle         bool      // idleOf is idle
	program      bool      // waiting for the end of its program
	programAt    time.Time // do not wait for that before
	lastActivity time.Time // as reported by the backend
}

// typing is the message on its way to the agent.
type typing struct {
	busy      bool               // one is waiting for the agent to be idle, or being typed
	nudge     string             // the nudge that is waiting
	cancel    context.CancelFunc // ends that wait
	notBefore time.Time          // no completions before
}

func (ag *agentState) oneShot() bool {
	return ag.spec != nil && ag.spec.Resolved.Lifecycle == runtime.OneShot
}

package controller

import (
	"context"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// roster holds the agents that the config wants, and the sessions of the city
// that it no longer wants.
type roster struct {
	*core
	l         *loop
	records   map[string]session.Record // by agent, wanted or not
	templates []*agent.Spec             // the config's agents and pools
	all       map[string]*agentState    // by session name
	order     []string                  // wanted sessions in file order
	moved     map[string]string         // by agent, while specs are applied: the session that may still run it
}

// setSpecs sets the wanted agents. Others lose their spec and stay until their
// session is gone.
func (rs *roster) setSpecs(specs []*agent.Spec) {
	rs.order = rs.order[:0]
	wanted := map[string]bool{}
	for _, s := range specs {
		wanted[s.Session] = true
		rs.order = append(rs.order, s.Session)
		ag := rs.all[s.Session]
		if ag == nil {
			ag = &agentState{shown: shownState{since: rs.began}, seen: plan.Seen{Session: s.Session}}
			rs.all[s.Session] = ag
		}
		rs.setSpec(ag, s)
	}
	for name, ag := range rs.all {
		if !wanted[name] && ag.spec != nil {
			ag.drainLimit = rs.drainLimit(ag)
			ag.left, ag.spec = ag.spec, nil
		}
	}
	rs.leaveOldNames(specs)
}

// leaveOldNames gives up sessions of agents that have another name now.
func (rs *roster) leaveOldNames(specs []*agent.Spec) {
	session := make(map[string]string, len(specs))
	for _, s := range specs {
		session[s.Name()] = s.Session
	}
	for name, ag := range rs.all {
		if now := session[ag.seen.Agent]; now != "" && now != name {
			ag.seen.Occupant, ag.seen.Agent = ag.seen.Agent, ""
		}
	}
	for _, s := range specs {
		r := &rs.all[s.Session].seen.Record
		if old := rs.moved[s.Name()]; old != "" && rs.all[old] == nil { // it may be running although no list says so
			rs.all[old] = &agentState{shown: shownState{since: time.Now()}, seen: plan.Seen{Session: old, Occupant: r.Agent}}
		}
	}
	clear(rs.moved)
}

func (rs *roster) setSpec(ag *agentState, s *agent.Spec) {
	r := &ag.seen.Record
	if ag.seen.Agent != "" && ag.seen.Agent != s.Name() { // another agent had the name
		ag.seen.Occupant, *r = ag.seen.Agent, session.Record{}
	}
	if r.Agent == "" { // it was running before it was wanted
		known := rs.records[s.Name()]
		if known.Session != "" && known.Session != s.Session {
			rs.move(&known, s)
		}
		if r.ID != "" {
			known.ID, known.Token, known.Epoch, known.Open = r.ID, r.Token, max(r.Epoch, known.Epoch), true
		}
		*r = known
	}
	if differ(r.CoreHash, s.Hashes.Core) || differ(r.Digest, s.Digest) { // a new config is a new chance
		job := r.Job
		r.Clear()
		r.Job = job
	}
	r.Agent, r.Session, r.CoreHash, r.Digest = s.Name(), s.Session, s.Hashes.Core, s.Digest
	if ag.spec != s {
		ag.seen.Asked = time.Time{} // other questions matter now
	}
	ag.spec, ag.seen.Agent = s, s.Name()
	rs.place(ag)
}

// place tells a router where the agent's session is by the records, so that a machine that
// is away does not hold up the agents of others.
func (rs *roster) place(ag *agentState) {
	p, ok := runtime.RouterOf(rs.p).(runtime.Placer)
	if !ok || ag.seen.Occupant != "" {
		return
	}
	host := ag.spec.HostedBy(rs.o.ProviderName)
	if r := &ag.seen.Record; r.Open && r.Host != "" {
		host = r.Host
	}
	p.Place(ag.spec.Session, host)
}

// move changes the session name of a record: nothing has been started under the
// new name.
func (rs *roster) move(r *session.Record, s *agent.Spec) {
	if r.Open {
		rs.moved[s.Name()] = r.Session
	}
	r.Session, r.Open = s.Session, false
	if !r.Job.Done {
		r.Job = session.Job{}
	}
}

// differ reports whether two hashes are known and differ.
func differ(was, is string) bool { return was != "" && is != "" && was != is }

// named returns the state of a wanted agent, or nil.
func (rs *roster) named(name string) *agentState {
	for _, ag := range rs.all {
		if ag.spec != nil && ag.seen.Agent == name {
			return ag
		}
	}
	return nil
}

// agentState is what is known about one session: an agent's, or one of the
// city's that the config does not want.
type agentState struct {
	spec       *agent.Spec // nil: not in the config
	left       *agent.Spec // the last spec, once spec is nil
	seen       plan.Seen
	foreign    bool          // the session belongs to someone else
	queryErr   string        // why the last query failed
	queryHint  string        // the next step after that, or ""
	drainLimit time.Duration // for a drain once it is no longer wanted; 0 = the city's
	undrained  time.Time     // when its last drain was cancelled

	op     operation
	start  startState
	shown  shownState
	watch  watches
	typing typing
}

// cannotTell records that a query about the agent failed.
func (ag *agentState) cannotTell(err error) {
	ag.queryErr, ag.queryHint = err.Error(), api.Hint(err)
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
	endTurns     func()    // ends that
	blocked      string    // watched for an unanswered question
	idleOf       string    // waiting for idle, or idle if idle is set
	idle         bool      // idleOf is idle
	program      bool      // waiting for the end of its program
	programAt    time.Time // do not wait for that before
	lastActivity time.Time // as reported by the backend

	sought  time.Time // when its conversation was last looked for
	seeking bool      // that is under way
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

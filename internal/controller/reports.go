package controller

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// reports makes the status of the city.
type reports struct {
	*core
	l *loop
}

// stateOf returns an agent's state for the status.
func (rp *reports) stateOf(ag *agentState) api.State {
	s := &ag.seen
	r := &s.Record
	switch {
	case ag.op.name == opStart || ag.op.name == opConfirm:
		return api.StateStarting
	case !s.Drain.Since.IsZero() || ag.op.name == opDrain:
		return api.StateDraining
	case ag.foreign || s.Presence == plan.Unknown || rp.l.observer.silent && s.Presence == plan.Alive:
		return api.StateUnknown
	case s.Presence == plan.Alive && ag.away():
		return api.StateUnknown
	case s.Presence == plan.Alive:
		return api.StateRunning
	case s.Presence == plan.Zombie:
		return api.StateCrashed
	case rp.l.suspended.by(ag) != "":
		return api.StateSuspended
	case r.Stopped || r.IdleStopped || r.Drained || ag.spec == nil || rp.l.shutdown.begun:
		return api.StateStopped
	case ag.oneShot() && r.Job.Done && r.Job.Run == rp.runID:
		if r.Job.Code == 0 {
			return api.StateExited
		}
		return api.StateCrashed
	case r.Finished:
		return api.StateExited
	case r.NeedsLogin:
		return api.StateStopped
	case r.PutOff > 0:
		return api.StateStarting
	case r.Quarantined():
		return api.StateQuarantined
	case r.LastError != "" || r.Crashed:
		return api.StateCrashed
	}
	return api.StateStopped
}

// away reports whether the agent runs on another machine that did not answer last.
func (ag *agentState) away() bool {
	return ag.queryErr != "" && ag.host() != ""
}

// host is the other machine that the agent runs on; "" is this one.
func (ag *agentState) host() string {
	if ag.spec == nil {
		return ""
	}
	return ag.spec.Host()
}

// note records since when each agent is in its state.
func (rp *reports) note(now time.Time) {
	for _, ag := range rp.l.agents.all {
		if st := rp.stateOf(ag); st != ag.shown.state {
			ag.shown.state, ag.shown.since = st, now
		}
	}
}

// anyProvider reports whether a router hosts each agent as its config says.
func (rp *reports) anyProvider() bool {
	return rp.o.ProviderName != config.HostHybrid && runtime.RouterOf(rp.p) != nil
}

// status is the reply to `gc status`.
func (rp *reports) status() api.Status {
	since := rp.began
	st := api.Status{
		City: rp.o.City.Name(), CityPath: rp.o.City.Dir, Reconciled: rp.l.goal.reconciled, ConfigError: rp.l.config.err, Seq: rp.store.Seq(),
		Controller: api.ControllerInfo{PID: os.Getpid(), Since: &since}, Agents: []api.AgentStatus{},
		SessionProvider: rp.o.ProviderName, AnyProvider: rp.anyProvider(), StoreError: rp.storeError(), Suspended: rp.l.suspended.has(session.SuspendedCity) || rp.o.City.Workspace.Suspended,
	}
	for i := range rp.o.City.Rigs {
		r := &rp.o.City.Rigs[i]
		st.Rigs = append(st.Rigs, api.RigStatus{
			Name: r.Name, Path: config.Place(rp.o.City.Dir, r.Path), Suspended: r.Suspended || rp.l.suspended.has(session.SuspendedRig(r.Name)),
		})
	}
	st.Pools = rp.l.pools.status()
	for _, name := range rp.l.agents.order {
		st.Agents = append(st.Agents, rp.agentStatus(rp.l.agents.all[name]))
	}
	var rest []api.AgentStatus
	for _, ag := range rp.l.agents.all {
		if ag.spec == nil && ag.seen.Presence != plan.Gone {
			rest = append(rest, rp.agentStatus(ag))
		}
	}
	slices.SortFunc(rest, func(a, b api.AgentStatus) int { return strings.Compare(a.Session, b.Session) })
	st.Agents = append(st.Agents, rest...)
	return st
}

// storeError is why the newest changes are not on disk; "" if they are.
func (rp *reports) storeError() string {
	if err := rp.store.Err(); err != nil {
		return oneLine(err.Error())
	}
	return ""
}

func (rp *reports) agentStatus(ag *agentState) api.AgentStatus {
	r := &ag.seen.Record
	a := api.AgentStatus{
		Name: ag.name(), Session: ag.seen.Session, State: rp.stateOf(ag),
		Restarts: r.Total, LastExit: r.LastExit, Error: r.LastError, Hint: r.LastHint, LastScreen: r.LastScreen, Warning: ag.start.warning,
		OneShot: ag.oneShot(), SuspendedBy: rp.l.suspended.by(ag), Drain: ag.drainStatus(),
		Stopping: ag.op.name == opStop && !ag.op.exitSeen,
	}
	if ag.spec != nil {
		a.Permissions, a.Unchecked = ag.spec.Permissions(ag.seen.Hashes.Core)
		a.Host, a.Conversation = rp.placed(ag.spec.Host(), ag.seen.Session), rp.conversation(ag)
		if a.Host != "" {
			a.HostedBy = ag.spec.HostedBy(rp.o.ProviderName)
		}
		a.Provider, a.Description = ag.spec.Resolved.Provider, ag.spec.Resolved.Description
		if ag.spec.Resolved.Template != ag.spec.Resolved.Name {
			a.Pool = ag.spec.Resolved.Template
		}
	}
	if a.State != ag.shown.state {
		ag.shown.state, ag.shown.since = a.State, time.Now()
	}
	since := ag.shown.since
	a.Since = &since
	if at := r.Started; !at.IsZero() {
		a.Started = &at
	}
	switch {
	case ag.foreign:
		a.Error, a.Hint = api.ErrForeign.Error(), api.ForeignHint
	case ag.queryErr != "":
		a.Error, a.Hint = ag.queryErr, cmp.Or(ag.queryHint, a.Hint)
	case ag.start.putOff != "":
		a.Error, a.Hint = ag.start.putOff, "free some space on the disk of "+api.StateDir(rp.o.City.Dir)
	}
	if a.State == api.StateQuarantined || r.PutOff > 0 {
		at := r.RetryAt
		a.RetryAt = &at
		switch {
		case a.Hint != "":
		case r.PutOff > 0:
			a.Hint = "gc retries automatically; gc restart " + ag.name() + " retries now"
		default:
			a.Hint = "gc restart " + ag.name()
		}
	}
	if ag.spec != nil && ag.seen.Presence == plan.Gone && ag.op.name == "" {
		a.WaitsFor = rp.waitsFor(ag)
	}
	ag.showActivity(&a)
	return a
}

// waitsFor names what keeps an agent from starting, or "".
func (rp *reports) waitsFor(ag *agentState) string {
	moves := false
	for _, other := range rp.l.agents.all {
		moves = moves || other.seen.Occupant == ag.seen.Agent
	}
	if len(ag.spec.Resolved.DependsOn) == 0 && !moves {
		return ""
	}
	return plan.BlockedBy(rp.l.agents.desired(), rp.l.agents.actual(), ag.seen.Agent)
}

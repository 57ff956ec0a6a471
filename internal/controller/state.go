package controller

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
)

// openBook opens the city's database. The caller holds the city's lock. A file
// that cannot be used is left as it is.
func openBook(city string) (*session.Book, error) {
	path := api.DBPath(city)
	b, err := session.Open(path)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, session.ErrCorrupt):
		return nil, api.Hinted("move "+path+" away to go on with empty records; running agents are adopted", "%w", err)
	case errors.Is(err, session.ErrNewer):
		return nil, api.Hinted("use the newer gc that wrote it", "%w", err)
	case errors.Is(err, session.ErrLocked):
		return nil, api.Hinted("another program has it open: fuser "+path, "%w", err)
	case errors.Is(err, os.ErrPermission):
		return nil, api.StateDirError(city, err)
	}
	return nil, err
}

// reporter says how the city is.
type reports struct{ l *loop }

// stateOf is what status says of a member.
func (rp *reports) stateOf(m *member) api.State {
	s := &m.seen
	r := &s.Record
	switch {
	case m.op.name == opStart || m.op.name == opConfirm:
		return api.StateStarting
	case !s.Drain.Since.IsZero() || m.op.name == opDrain:
		return api.StateDraining
	case m.foreign || s.Presence == plan.Unknown || rp.l.observer.silent && s.Presence == plan.Alive:
		return api.StateUnknown
	case s.Presence == plan.Alive:
		return api.StateRunning
	case s.Presence == plan.Zombie:
		return api.StateCrashed
	case rp.l.suspended.by(m) != "":
		return api.StateSuspended
	case r.Stopped || r.Asleep || r.Drained || m.spec == nil || rp.l.shutdown.begun:
		return api.StateStopped
	case m.oneShot() && r.Job.Done && r.Job.Run == rp.l.runID:
		if r.Job.Code == 0 {
			return api.StateExited
		}
		return api.StateCrashed
	case r.Finished:
		return api.StateExited
	case r.PutOff > 0:
		return api.StateStarting
	case r.Quarantined():
		return api.StateQuarantined
	case r.LastError != "" || r.Crashed:
		return api.StateCrashed
	}
	return api.StateStopped
}

// noteStates keeps since when each member is in its state.
func (rp *reports) note(now time.Time) {
	for _, m := range rp.l.agents.all {
		if st := rp.stateOf(m); st != m.shown.state {
			m.shown.state, m.shown.since = st, now
		}
	}
}

// status is the answer to `gc status`.
func (rp *reports) status() api.Status {
	since := rp.l.began
	st := api.Status{
		City: rp.l.o.City.Name(), CityPath: rp.l.o.City.Dir, Reconciled: rp.l.goal.reconciled, ConfigError: rp.l.config.err, Seq: rp.l.book.Seq(),
		Controller: api.ControllerInfo{PID: os.Getpid(), Since: &since}, Agents: []api.AgentStatus{},
		SessionProvider: rp.l.o.ProviderName, StoreError: rp.storeError(), Suspended: rp.l.suspended.has(session.PauseCity) || rp.l.o.City.Workspace.Suspended,
	}
	for i := range rp.l.o.City.Rigs {
		r := &rp.l.o.City.Rigs[i]
		st.Rigs = append(st.Rigs, api.RigStatus{
			Name: r.Name, Path: config.Place(rp.l.o.City.Dir, r.Path), Suspended: r.Suspended || rp.l.suspended.has(session.PauseRig(r.Name)),
		})
	}
	st.Pools = rp.l.pools.status()
	for _, name := range rp.l.agents.order {
		st.Agents = append(st.Agents, rp.agentStatus(rp.l.agents.all[name]))
	}
	var rest []api.AgentStatus
	for _, m := range rp.l.agents.all {
		if m.spec == nil && m.seen.Presence != plan.Gone {
			rest = append(rest, rp.agentStatus(m))
		}
	}
	slices.SortFunc(rest, func(a, b api.AgentStatus) int { return strings.Compare(a.Session, b.Session) })
	st.Agents = append(st.Agents, rest...)
	return st
}

// storeError is why the newest changes are not on disk, "" when they are.
func (rp *reports) storeError() string {
	if err := rp.l.book.Err(); err != nil {
		return oneLine(err.Error())
	}
	return ""
}

func (rp *reports) agentStatus(m *member) api.AgentStatus {
	r := &m.seen.Record
	a := api.AgentStatus{
		Name: m.name(), Session: m.seen.Session, State: rp.stateOf(m),
		Restarts: r.Total, LastExit: r.LastExit, Error: r.LastError, Hint: r.LastHint, LastScreen: r.LastScreen, Warning: m.start.warning,
		OneShot: m.oneShot(), SuspendedBy: rp.l.suspended.by(m), Drain: m.drainStatus(),
		Stopping: m.op.name == opStop && !m.op.exitSeen,
	}
	if m.spec != nil {
		a.Permissions, a.Unchecked = m.spec.Permissions(m.seen.Hashes.Core)
		a.Provider, a.Description = m.spec.Resolved.Provider, m.spec.Resolved.Description
		if m.spec.Resolved.Template != m.spec.Resolved.Name {
			a.Pool = m.spec.Resolved.Template
		}
	}
	if a.State != m.shown.state {
		m.shown.state, m.shown.since = a.State, time.Now()
	}
	since := m.shown.since
	a.Since = &since
	if at := r.Started; !at.IsZero() {
		a.Started = &at
	}
	switch {
	case m.foreign:
		a.Error, a.Hint = api.ErrForeign.Error(), api.ForeignHint
	case m.queryErr != "":
		a.Error = m.queryErr
	case m.start.putOff != "":
		a.Error, a.Hint = m.start.putOff, "make room on the disk of "+api.StateDir(rp.l.o.City.Dir)
	}
	if a.State == api.StateQuarantined || r.PutOff > 0 {
		at := r.RetryAt
		a.RetryAt = &at
		switch {
		case a.Hint != "":
		case r.PutOff > 0:
			a.Hint = "gc tries again by itself; gc restart " + m.name() + " tries now"
		default:
			a.Hint = "gc restart " + m.name()
		}
	}
	if m.spec != nil && m.seen.Presence == plan.Gone && m.op.name == "" {
		a.WaitsFor = rp.waitsFor(m)
	}
	m.showActivity(&a)
	return a
}

// waitsFor names what keeps a member from starting, or "".
func (rp *reports) waitsFor(m *member) string {
	moves := false
	for _, other := range rp.l.agents.all {
		moves = moves || other.seen.Occupant == m.seen.Agent
	}
	if len(m.spec.Resolved.DependsOn) == 0 && !moves {
		return ""
	}
	return plan.BlockedBy(rp.l.agents.desired(), rp.l.agents.actual(), m.seen.Agent)
}

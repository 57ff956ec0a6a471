package controller

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
)

// dbName is the city's database in its .gc folder.
const dbName = "city.db"

// openBook opens the city's database. The caller holds the city's lock. A file
// that cannot be used is left as it is.
func openBook(city string) (*session.Book, error) {
	path := filepath.Join(StateDir(city), dbName)
	b, err := session.Open(path)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, session.ErrCorrupt):
		return nil, hinted("move "+path+" away to go on with empty records; running agents are adopted", "%w", err)
	case errors.Is(err, session.ErrNewer):
		return nil, hinted("use the newer gc that wrote it", "%w", err)
	case errors.Is(err, session.ErrLocked):
		return nil, hinted("another program has it open: fuser "+path, "%w", err)
	case errors.Is(err, os.ErrPermission):
		return nil, stateDirError(city, err)
	}
	return nil, err
}

// stateOf is what status says of a member.
func (l *loop) stateOf(m *member) State {
	s := &m.seen
	r := &s.Record
	switch {
	case m.op == opStart || m.op == opSettle:
		return StateStarting
	case !s.Drain.Since.IsZero() || m.op == opDrain:
		return StateDraining
	case m.foreign || s.Presence == plan.Unknown || l.silent && s.Presence == plan.Alive:
		return StateUnknown
	case s.Presence == plan.Alive:
		return StateRunning
	case s.Presence == plan.Zombie:
		return StateCrashed
	case l.suspendedBy(m) != "":
		return StateSuspended
	case r.Stopped || r.Asleep || r.Drained || m.spec == nil || l.stopping:
		return StateStopped
	case m.oneShot() && r.Job.Done && r.Job.Run == l.runID:
		if r.Job.Code == 0 {
			return StateExited
		}
		return StateCrashed
	case r.Finished:
		return StateExited
	case r.PutOff > 0:
		return StateStarting
	case r.Quarantined():
		return StateQuarantined
	case r.LastError != "" || r.Crashed:
		return StateCrashed
	}
	return StateStopped
}

// noteStates keeps since when each member is in its state.
func (l *loop) noteStates(now time.Time) {
	for _, m := range l.members {
		if st := l.stateOf(m); st != m.state {
			m.state, m.since = st, now
		}
	}
}

// status is the answer to `gc status`.
func (l *loop) status() Status {
	since := l.began
	st := Status{
		City: l.o.City.Name(), CityPath: l.o.City.Dir, Reconciled: l.reconciled, ConfigError: l.configErr, Seq: l.book.Seq(),
		Controller: ControllerInfo{PID: os.Getpid(), Since: &since}, Agents: []AgentStatus{},
		SessionProvider: l.o.ProviderName, StoreError: l.storeError(), Suspended: l.paused(session.PauseCity) || l.o.City.Workspace.Suspended,
	}
	for i := range l.o.City.Rigs {
		r := &l.o.City.Rigs[i]
		st.Rigs = append(st.Rigs, RigStatus{
			Name: r.Name, Path: config.Place(l.o.City.Dir, r.Path), Suspended: r.Suspended || l.paused(session.PauseRig(r.Name)),
		})
	}
	st.Pools = l.poolStatus()
	for _, name := range l.order {
		st.Agents = append(st.Agents, l.agentStatus(l.members[name]))
	}
	var rest []AgentStatus
	for _, m := range l.members {
		if m.spec == nil && m.seen.Presence != plan.Gone {
			rest = append(rest, l.agentStatus(m))
		}
	}
	slices.SortFunc(rest, func(a, b AgentStatus) int { return strings.Compare(a.Session, b.Session) })
	st.Agents = append(st.Agents, rest...)
	return st
}

// storeError is why the newest changes are not on disk, "" when they are.
func (l *loop) storeError() string {
	if err := l.book.Err(); err != nil {
		return oneLine(err.Error())
	}
	return ""
}

func (l *loop) agentStatus(m *member) AgentStatus {
	r := &m.seen.Record
	a := AgentStatus{
		Name: m.name(), Session: m.seen.Session, State: l.stateOf(m),
		Restarts: r.Total, LastExit: r.LastExit, Error: r.LastError, Hint: r.LastHint, LastScreen: r.LastScreen, Warning: m.warning,
		OneShot: m.oneShot(), SuspendedBy: l.suspendedBy(m), Drain: m.drainStatus(),
		Stopping: m.op == opStop && !m.exitSeen,
	}
	if m.spec != nil {
		a.Permissions, a.Unchecked = m.spec.Permissions(m.seen.Hashes.Core)
		a.Provider, a.Description = m.spec.Resolved.Provider, m.spec.Resolved.Description
		if m.spec.Resolved.Template != m.spec.Resolved.Name {
			a.Pool = m.spec.Resolved.Template
		}
	}
	if a.State != m.state {
		m.state, m.since = a.State, time.Now()
	}
	since := m.since
	a.Since = &since
	if at := r.Started; !at.IsZero() {
		a.Started = &at
	}
	switch {
	case m.foreign:
		a.Error, a.Hint = ErrForeign.Error(), ForeignHint
	case m.queryErr != "":
		a.Error = m.queryErr
	case m.notStarted != "":
		a.Error, a.Hint = m.notStarted, "make room on the disk of "+StateDir(l.o.City.Dir)
	}
	if a.State == StateQuarantined || r.PutOff > 0 {
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
	if m.spec != nil && m.seen.Presence == plan.Gone && m.op == "" {
		a.WaitsFor = l.waitsFor(m)
	}
	a.showActivity(m)
	return a
}

// waitsFor names what keeps a member from starting, or "".
func (l *loop) waitsFor(m *member) string {
	moves := false
	for _, other := range l.members {
		moves = moves || other.runs == m.seen.Agent
	}
	if len(m.spec.Resolved.DependsOn) == 0 && !moves {
		return ""
	}
	return plan.BlockedBy(l.desired(), l.actual(), m.seen.Agent)
}

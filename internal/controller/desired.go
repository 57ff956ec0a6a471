package controller

import (
	"time"

	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// desired is the wanted half of the plan.
func (l *loop) desired() plan.Desired {
	d := plan.Desired{
		Run: l.runID, MaxStarts: l.o.City.Daemon.MaxParallelStarts, DriftDrain: l.o.City.Daemon.DriftDrainTimeout,
		Agents: make([]plan.Wanted, 0, len(l.order)),
	}
	_, warm := runtime.As[runtime.RelaunchProvider](l.p)
	for _, name := range l.order {
		m := l.members[name]
		r := &m.spec.Resolved
		d.Agents = append(d.Agents, plan.Wanted{
			Name: r.Name, Session: name, Hashes: m.spec.Hashes, Current: m.spec.Current, OneShot: m.oneShot(), DependsOn: l.dependencies(r.DependsOn),
			Suspended: l.pausedBy(m.spec) != "", IdleTimeout: r.IdleTimeout, CanRelaunch: warm && !m.noWarm,
			WaitsFor: l.unchecked(r.DependsOn),
		})
	}
	return d
}

// dependencies puts a pool's members in the place of its name.
func (l *loop) dependencies(list []string) []string {
	var out []string
	for i, name := range list {
		p := l.pools[name]
		if p == nil {
			if out != nil {
				out = append(out, name)
			}
			continue
		}
		if out == nil {
			out = append([]string{}, list[:i]...)
		}
		for _, m := range p.members {
			out = append(out, m.Name())
		}
	}
	if out == nil {
		return list
	}
	return out
}

// unchecked names a pool of the list whose size is not known yet, or "".
func (l *loop) unchecked(list []string) string {
	for _, name := range list {
		if p := l.pools[name]; p != nil && !p.checked {
			return name
		}
	}
	return ""
}

// drainLimit is how long a member may take to end when it is not wanted.
func (l *loop) drainLimit(m *member) time.Duration {
	if p := l.poolOf(m); p != nil {
		return p.spec.Resolved.Pool.DrainTimeout
	}
	return 0
}

// actual is the other half.
func (l *loop) actual() plan.Actual {
	a := plan.Actual{Sessions: make([]plan.Seen, 0, len(l.members))}
	for _, m := range l.members {
		s := m.seen
		s.Busy, s.Starting, s.DrainLimit = m.op != "", m.op == opStart, m.drainLimit
		s.Held = m.spec == nil && l.mayBeMember(m.runs)
		s.Was = m.runs
		s.Expected = m.delivering || len(l.ends.open[s.Session]) > 0
		if m.spec == nil && s.Presence == plan.Gone && !s.Busy {
			continue
		}
		a.Sessions = append(a.Sessions, s)
	}
	return a
}

package controller

import (
	"time"

	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// desired is the wanted half of the plan's input.
func (rs *roster) desired() plan.Desired {
	d := plan.Desired{
		Run: rs.runID, MaxStarts: rs.o.City.Daemon.MaxParallelStarts, DriftDrain: rs.o.City.Daemon.DriftDrainTimeout,
		Agents: make([]plan.Wanted, 0, len(rs.order)),
	}
	_, warm := runtime.As[runtime.RelaunchProvider](rs.p)
	for _, name := range rs.order {
		ag := rs.all[name]
		r := &ag.spec.Resolved
		d.Agents = append(d.Agents, plan.Wanted{
			Name: r.Name, Session: name, Hashes: ag.spec.Hashes, Current: ag.spec.Current, OneShot: ag.oneShot(), DependsOn: rs.dependencies(r.DependsOn),
			Suspended: rs.l.suspended.ofSpec(ag.spec) != "", IdleTimeout: r.IdleTimeout, CanRelaunch: warm && !ag.start.noWarm,
			WaitsFor: rs.unchecked(r.DependsOn),
		})
	}
	return d
}

// dependencies replaces pools with their members.
func (rs *roster) dependencies(list []string) []string {
	var out []string
	for i, name := range list {
		p := rs.l.pools.byName[name]
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
func (rs *roster) unchecked(list []string) string {
	for _, name := range list {
		if p := rs.l.pools.byName[name]; p != nil && !p.checked {
			return name
		}
	}
	return ""
}

// drainLimit is how long an agent may take to end once it is not wanted.
func (rs *roster) drainLimit(ag *agentState) time.Duration {
	if p := rs.l.pools.of(ag); p != nil {
		return p.spec.Resolved.Pool.DrainTimeout
	}
	return 0
}

// actual is the observed half of the plan's input.
func (rs *roster) actual() plan.Actual {
	a := plan.Actual{Sessions: make([]plan.Seen, 0, len(rs.all))}
	for _, ag := range rs.all {
		s := ag.seen
		s.Busy, s.Starting, s.DrainLimit = ag.op.name != "", ag.op.name == opStart, ag.drainLimit
		s.Held = ag.spec == nil && rs.l.pools.mayBeMember(ag.seen.Occupant)
		s.Expected = ag.typing.busy || len(rs.l.completions.open[s.Session]) > 0
		if ag.spec == nil && s.Presence == plan.Gone && !s.Busy {
			continue
		}
		a.Sessions = append(a.Sessions, s)
	}
	return a
}

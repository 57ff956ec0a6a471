package plan

import "time"

// drain begins a drain, or continues the one in progress.
func (p *planner) drain(s *Seen, why string, limit time.Duration) {
	switch {
	case s.Drain.Since.IsZero():
		p.out = append(p.out, Action{Kind: ActDrain, Agent: s.Agent, Session: s.Session, Why: why, Limit: limit})
	case s.Drain.Ack:
		p.add(ActStop, s, WhyDrained)
	default:
		end := s.Drain.Since.Add(s.Drain.Limit)
		if !p.now.Before(end) || s.Drain.Since.Sub(p.now) > s.Drain.Limit { // the clock was set back
			p.add(ActStop, s, s.Drain.Why)
			return
		}
		p.wait(s, end, s.Drain.Why)
	}
}

// unwanted ends a session that the config does not ask for.
func (p *planner) unwanted(s *Seen) {
	if s.Busy || !s.Owned || s.Held {
		return
	}
	why := WhyOrphan
	if _, moved := p.wanted[s.runs()]; moved {
		why = WhyMoved
	} else if s.Agent != "" {
		why = WhyUnwanted
	}
	p.leave(s, why)
}

// leave ends a session, by a drain if it has a process to ask.
func (p *planner) leave(s *Seen, why string) {
	switch s.Presence {
	case Zombie:
		p.add(ActStop, s, why)
	case Alive:
		limit := s.DrainLimit
		if limit == 0 {
			limit = p.want.DriftDrain
		}
		p.drain(s, why, limit)
	}
}

// agent handles a wanted agent with no operation in flight.
func (p *planner) agent(w *Wanted, s *Seen) {
	switch {
	case s.Presence == Unknown:
	case s.Presence == Gone:
		p.gone(w, s)
	case !s.Owned:
		// A session that is not this city's has the name.
	case s.Occupant != "" && s.Occupant != s.Agent: // the session runs another agent
		p.leave(s, WhyMoved)
	case s.Record.Stopped:
		p.add(ActStop, s, WhyStopped)
	case w.Suspended || s.Record.Suspended:
		if s.Presence == Zombie {
			p.add(ActStop, s, WhySuspended)
			return
		}
		p.drain(s, WhySuspended, p.want.DriftDrain)
	case s.Record.Drained && s.Presence == Alive:
		p.drain(s, WhyAsked, p.want.DriftDrain)
	case s.Presence == Zombie:
		p.add(ActStop, s, WhyZombie)
	default:
		p.alive(w, s)
	}
}

// gone starts a wanted agent that has no session.
func (p *planner) gone(w *Wanted, s *Seen) {
	r := &s.Record
	if w.Suspended || r.Suspended || r.Stopped || r.IdleStopped || r.Drained || r.Finished || r.NeedsLogin {
		return
	}
	if w.OneShot && r.Job.Run == p.want.Run && w.current(r.Job.Hash) {
		return // once per gc start and core hash
	}
	if ok, at := r.MayStart(p.now); !ok {
		p.wait(s, at, WhyRetry)
		return
	}
	if p.blockedBy(w) != "" || p.free <= 0 {
		return // retried when another start ends
	}
	p.free--
	why := WhyNew
	if r.Crashed {
		why = WhyCrashed
	}
	p.add(ActStart, s, why)
}

// BlockedBy names what keeps an agent from starting, or "". An operation in
// flight on a dependency does not block: it ends by itself.
func BlockedBy(d Desired, a Actual, agent string) string {
	p := newPlanner(d, a, time.Time{})
	w := p.wanted[agent]
	if w == nil {
		return ""
	}
	for name, s := range p.seen {
		idle := *s
		idle.Busy = false
		p.seen[name] = &idle
	}
	return p.blockedBy(w)
}

// blockedBy names what keeps an agent from starting, or "": its session under
// another name, or the first dependency that is not up.
func (p *planner) blockedBy(w *Wanted) string {
	if old := p.moving[w.Name]; old != "" {
		return "the end of session " + old
	}
	if w.WaitsFor != "" {
		return w.WaitsFor
	}
	for _, name := range w.DependsOn {
		dw, known := p.wanted[name]
		ds, seen := p.seen[name]
		if !known || !seen {
			continue // no longer an agent, or an empty pool
		}
		if !up(dw, ds, p.want.Run) {
			return name
		}
	}
	return ""
}

// up reports whether dependents of an agent may start: it runs, its one_shot
// succeeded, or it is down on purpose.
func up(w *Wanted, s *Seen, run string) bool {
	r := &s.Record
	if w.Suspended || r.Suspended || r.Stopped || r.IdleStopped || r.Drained {
		return true
	}
	if w.OneShot {
		return r.Job.Run == run && w.current(r.Job.Hash) && r.Job.Done && r.Job.Code == 0
	}
	return s.Presence == Alive && !s.Busy
}

// alive ends or changes a running agent if there is a reason.
func (p *planner) alive(w *Wanted, s *Seen) {
	core := s.Hashes.Core != "" && !w.current(s.Hashes.Core)
	switch {
	case s.RestartAsked:
		p.add(ActStop, s, WhyRequested)
		return
	case core && s.Asked.IsZero() && s.Drain.Since.IsZero():
		p.add(ActLook, s, WhyDrift)
		return
	case core && s.Attached && s.Drain.Since.IsZero():
		return // never under an attached user
	case core && w.CanRelaunch && s.Hashes.Provision == w.Hashes.Provision && s.Drain.Since.IsZero():
		p.add(ActRelaunch, s, WhyLaunch)
		return
	case core:
		p.drain(s, WhyDrift, p.want.DriftDrain)
		return
	case !s.Drain.Since.IsZero():
		p.add(ActCancelDrain, s, WhyWanted)
		return
	}
	if s.Hashes.Live != "" && s.Hashes.Live != w.Hashes.Live {
		p.add(ActRunLive, s, WhyLive)
	}
	if w.IdleTimeout > 0 && !s.LastActivity.IsZero() && !s.Attached && !s.Working && !s.Expected {
		at := s.LastActivity.Add(w.IdleTimeout)
		switch {
		case p.now.Before(at):
			p.wait(s, at, WhyIdle)
		case s.Asked.Before(at): // observed before the deadline
			p.add(ActLook, s, WhyIdle)
		default:
			p.add(ActStop, s, WhyIdle)
		}
	}
}

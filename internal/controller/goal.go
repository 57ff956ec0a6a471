package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/kept"
	"gascity.dev/gc/runtime"
)

// FailedError is the end of a run in which agents failed; Code is the exit
// status of the first.
type FailedError struct {
	Agent string
	Code  int
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("agent %s failed with exit status %d", e.Agent, e.Code)
}

// goal is what a run is for: the first reconcile, and Options.Until.
type goal struct {
	*core
	l          *loop
	reconciled bool // the first reconcile is done
	reached    bool // Options.Until is
	ended      bool // run returns result
	result     error
}

// collectTimeout bounds collecting the artifacts at the end of a run.
const collectTimeout = 2 * time.Minute

// checkUntil ends a run whose goal is reached.
func (g *goal) checkUntil() {
	if g.o.Until == UntilStopped || !g.reconciled || g.l.goal.ended || g.l.shutdown.begun || g.reached {
		return
	}
	var first *FailedError
	for _, name := range g.l.agents.order {
		ag := g.l.agents.all[name]
		r := &ag.seen.Record
		switch {
		case g.l.suspended.by(ag) != "":
		case !ag.oneShot():
			if g.o.Until == UntilIdle && !g.idleNow(ag) {
				return
			}
		case !r.Job.Done || r.Job.Run != g.runID:
			if !g.hopeless(ag, map[string]bool{}) {
				return
			}
		case r.Job.Code != 0 && first == nil:
			first = &FailedError{Agent: ag.name(), Code: r.Job.Code}
		}
	}
	if first != nil {
		g.conclude(first)
		return
	}
	g.conclude(nil)
}

// hopeless reports whether a one_shot depends, directly or not, on one that
// failed.
func (g *goal) hopeless(ag *agentState, visited map[string]bool) bool {
	if ag.seen.Presence != plan.Gone || ag.op.name != "" || visited[ag.seen.Session] {
		return false
	}
	visited[ag.seen.Session] = true
	for _, dep := range g.l.agents.dependencies(ag.spec.Resolved.DependsOn) {
		for _, o := range g.l.agents.all {
			if o.spec == nil || o.seen.Agent != dep || !o.oneShot() {
				continue
			}
			job := o.seen.Record.Job
			if job.Run == g.runID && job.Done && job.Code != 0 || g.hopeless(o, visited) {
				return true
			}
		}
	}
	return false
}

// idleNow reports whether an agent is known to be idle, and starts to wait for
// that. An agent that is down for good is idle; one whose backend cannot tell
// never is.
func (g *goal) idleNow(ag *agentState) bool {
	if ag.seen.Presence == plan.Gone && ag.op.name == "" {
		r := &ag.seen.Record
		return r.Stopped || r.IdleStopped || r.Drained || r.Finished || r.NeedsLogin || r.Quarantined()
	}
	if ag.seen.Presence != plan.Alive || ag.op.name != "" {
		return false
	}
	if ag.watch.idleOf == ag.seen.Record.ID && ag.watch.idle {
		return true
	}
	w, ok := runtime.As[runtime.IdleWaitProvider](g.p)
	if !ok || ag.watch.idleOf == ag.seen.Record.ID {
		return false
	}
	id, name := ag.seen.Record.ID, ag.seen.Session
	ag.watch.idleOf, ag.watch.idle = id, false
	g.ops.Go(func() {
		err := w.WaitForIdle(g.ops.ctx, name, idleWait)
		g.post(func() {
			if ag.watch.idleOf != id {
				return
			}
			if ag.watch.idle = err == nil; !ag.watch.idle {
				ag.watch.idleOf = "" // ask again
			}
		})
	})
	return false
}

// idleWait bounds one wait for idleness.
const idleWait = time.Hour

// conclude ends a run by itself: it collects the artifacts while the sessions
// exist, and then stops the city if cancelling ctx would.
func (g *goal) conclude(result error) {
	if g.reached {
		return
	}
	g.reached = true
	st := g.l.report.status()
	left := g.artifacts(st, result)
	running := g.runningNames()
	g.ops.Go(func() {
		ctx, cancel := context.WithTimeout(g.ops.ctx, collectTimeout)
		defer cancel()
		var err error
		showActivities(st.Agents, activities(ctx, g.p, running))
		if g.o.Artifacts != "" {
			err = errors.Join(left.write(ctx), kept.AddRun(g.o.City.Dir, g.o.Artifacts), g.l.keepWithin(ctx))
		}
		if g.o.Finished != nil {
			err = errors.Join(err, g.o.Finished(ctx, st))
		}
		g.post(func() {
			if result == nil {
				result = err
			} else if err != nil {
				g.logf("artifacts: %v", err)
			}
			if !g.o.StopOnCancel {
				g.l.goal.finish(result)
				return
			}
			g.l.goal.result = result
			g.l.shutdown.begin()
		})
	})
}

// checkReady detects the end of the first reconcile: every agent was observed,
// and every possible start was tried once.
func (g *goal) checkReady() {
	if g.reconciled || !g.l.observer.done || g.l.goal.ended {
		return
	}
	for _, p := range g.l.pools.byName {
		if !p.checked {
			return
		}
	}
	for _, ag := range g.l.agents.all {
		notAsked := ag.spec != nil && ag.seen.Presence == plan.Unknown && ag.queryErr == "" && !ag.foreign
		if (ag.op.name == opStart || ag.op.name == opConfirm) && ag.start.attempts <= 1 || ag.op.name == "" && notAsked {
			return
		}
	}
	d := g.l.agents.desired()
	d.MaxStarts = 1 << 30
	for _, a := range plan.Make(d, g.l.agents.actual(), time.Now()) {
		if a.Kind == plan.ActStart && g.l.agents.all[a.Session].start.attempts == 0 {
			return
		}
	}
	g.reconciled = true
	g.logf("first reconcile done")
	if g.o.Ready != nil {
		g.o.Ready(g.l.report.status())
	}
	if g.o.Once {
		g.l.goal.finish(nil)
	}
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// FailedError is the end of a run with agents that failed; Code is the exit
// status of the first of them.
type FailedError struct {
	Agent string
	Code  int
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("agent %s failed with exit status %d", e.Agent, e.Code)
}

// settleTimeout bounds what is collected at the end of a run.
const settleTimeout = 2 * time.Minute

// checkUntil ends a run whose goal is reached.
func (l *loop) checkUntil() {
	if l.o.Until == UntilStopped || !l.reconciled || l.ended || l.stopping || l.goal {
		return
	}
	var first *FailedError
	for _, name := range l.order {
		m := l.members[name]
		r := &m.seen.Record
		switch {
		case l.suspendedBy(m) != "":
		case !m.oneShot():
			if l.o.Until == UntilIdle && !l.idleNow(m) {
				return
			}
		case !r.Job.Done || r.Job.Run != l.runID:
			if !l.hopeless(m, map[string]bool{}) {
				return
			}
		case r.Job.Code != 0 && first == nil:
			first = &FailedError{Agent: m.name(), Code: r.Job.Code}
		}
	}
	if first != nil {
		l.settleRun(first)
		return
	}
	l.settleRun(nil)
}

// hopeless reports a one_shot that waits, directly or not, for one that failed.
func (l *loop) hopeless(m *member, visited map[string]bool) bool {
	if m.seen.Presence != plan.Gone || m.op != "" || visited[m.seen.Session] {
		return false
	}
	visited[m.seen.Session] = true
	for _, dep := range l.dependencies(m.spec.Resolved.DependsOn) {
		for _, o := range l.members {
			if o.spec == nil || o.seen.Agent != dep || !o.oneShot() {
				continue
			}
			job := o.seen.Record.Job
			if job.Run == l.runID && job.Done && job.Code != 0 || l.hopeless(o, visited) {
				return true
			}
		}
	}
	return false
}

// idleNow reports whether an agent is known to be idle, and sees to it that
// somebody finds out. An agent that has ended for good is idle; one whose
// backend cannot tell never is.
func (l *loop) idleNow(m *member) bool {
	if m.seen.Presence == plan.Gone && m.op == "" {
		r := &m.seen.Record
		return r.Stopped || r.Asleep || r.Drained || r.Finished || r.Quarantined()
	}
	if m.seen.Presence != plan.Alive || m.op != "" {
		return false
	}
	if m.idleOf == m.seen.Record.ID && m.idle {
		return true
	}
	w, ok := runtime.As[runtime.IdleWaitProvider](l.p)
	if !ok || m.idleOf == m.seen.Record.ID {
		return false
	}
	id, name := m.seen.Record.ID, m.seen.Session
	m.idleOf, m.idle = id, false
	l.work.Go(func() {
		err := w.WaitForIdle(l.opCtx, name, idleWait)
		l.post(func() {
			if m.idleOf != id {
				return
			}
			if m.idle = err == nil; !m.idle {
				m.idleOf = "" // ask again
			}
		})
	})
	return false
}

// idleWait bounds one wait for idleness.
const idleWait = time.Hour

// settleRun ends a run by itself: what it leaves is collected while the
// sessions are there, then the city is stopped when ctx's end would stop it.
func (l *loop) settleRun(result error) {
	if l.goal {
		return
	}
	l.goal = true
	st := l.status()
	left := l.artifacts(st, result)
	running := l.runningNames()
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(l.opCtx, settleTimeout)
		defer cancel()
		var err error
		showActivities(st.Agents, activities(ctx, l.p, running))
		if l.o.Artifacts != "" {
			err = left.write(ctx)
		}
		if l.o.Settled != nil {
			err = errors.Join(err, l.o.Settled(ctx, st))
		}
		l.post(func() {
			if result == nil {
				result = err
			} else if err != nil {
				l.logf("artifacts: %v", err)
			}
			if !l.o.StopOnCancel {
				l.finish(result)
				return
			}
			l.result = result
			l.shutdown()
		})
	})
}

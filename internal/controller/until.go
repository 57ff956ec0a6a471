package controller

import (
	"fmt"
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

// checkUntil ends a run whose goal is reached.
func (l *loop) checkUntil() {
	if l.o.Until == UntilStopped || !l.reconciled || l.ended || l.stopping || l.goal {
		return
	}
	var first *FailedError
	for _, name := range l.order {
		m := l.members[name]
		r := &m.seen.Record
		if r.Suspended || m.spec.Resolved.Suspended {
			continue
		}
		if !m.oneShot() {
			if l.o.Until == UntilIdle && !l.isIdle(m) {
				return
			}
			continue
		}
		if !r.Job.Done || r.Job.Run != l.runID {
			if l.waitsFor(m) != "" && l.hopeless(m) {
				continue
			}
			return
		}
		if r.Job.Code != 0 && first == nil {
			first = &FailedError{Agent: m.name(), Code: r.Job.Code}
		}
	}
	l.goal = true
	if first != nil {
		l.finish(first)
		return
	}
	l.finish(nil)
}

// hopeless reports a one_shot that waits for one that failed.
func (l *loop) hopeless(m *member) bool {
	for _, dep := range m.spec.Resolved.DependsOn {
		for _, o := range l.members {
			if o.seen.Agent == dep && o.oneShot() && o.seen.Record.Job.Done && o.seen.Record.Job.Code != 0 {
				return true
			}
		}
	}
	return false
}

// isIdle is the first form of idle: the session has ended, or its ready prompt
// stands and nothing has happened for a while (see spec of status).
func (l *loop) isIdle(m *member) bool {
	return m.seen.Presence == Gone && m.op == ""
}

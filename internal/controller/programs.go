package controller

import (
	"time"

	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// watchPrograms has the backend tell when the program of an agent has ended and
// its session has not. Where it cannot, the patrol finds out.
func (ob *observer) watchPrograms(now time.Time) {
	for name, m := range ob.l.agents.all {
		s := &m.seen
		if m.watch.program || now.Before(m.watch.programAt) || m.op.name != "" || s.Presence != plan.Alive || !s.Owned ||
			m.spec == nil || len(m.spec.Config.ProcessNames) == 0 {
			continue
		}
		m.watch.program = true
		names := m.spec.Config.ProcessNames
		ob.l.ops.Go(func() {
			err := ob.awaitProgramGone(name, names)
			ob.l.post(func() {
				// Once a patrol, should the backend's two answers differ for ever.
				m.watch.program, m.watch.programAt = false, time.Now().Add(ob.l.o.City.Daemon.PatrolInterval)
				if err == nil && m.op.name == "" && m.seen.Presence == plan.Alive {
					ob.observe()
				}
			})
		})
	}
}

func (ob *observer) awaitProgramGone(name string, names []string) error {
	w, ok, err := runtime.AsFor[runtime.ProgramWatcher](ob.l.ops.ctx, ob.l.p, name)
	if err != nil {
		return err
	}
	if !ok {
		return runtime.ErrUnsupported
	}
	return w.AwaitProgramGone(ob.l.ops.ctx, name, names)
}

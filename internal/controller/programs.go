package controller

import (
	"time"

	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// watchPrograms has the backend report when the program of an agent ends but its
// session does not. Otherwise the patrol finds out.
func (ob *observer) watchPrograms(now time.Time) {
	for name, ag := range ob.l.agents.all {
		s := &ag.seen
		if ag.watch.program || now.Before(ag.watch.programAt) || ag.op.name != "" || s.Presence != plan.Alive || !s.Owned ||
			ag.spec == nil || len(ag.spec.Config.ProcessNames) == 0 {
			continue
		}
		ag.watch.program = true
		names := ag.spec.Config.ProcessNames
		ob.ops.Go(func() {
			err := ob.awaitProgramGone(name, names)
			ob.post(func() {
				// At most once a patrol, in case the backend's two answers keep
				// differing.
				ag.watch.program, ag.watch.programAt = false, time.Now().Add(ob.o.City.Daemon.PatrolInterval)
				if err == nil && ag.op.name == "" && ag.seen.Presence == plan.Alive {
					ob.observe()
				}
			})
		})
	}
}

func (ob *observer) awaitProgramGone(name string, names []string) error {
	w, ok, err := runtime.AsFor[runtime.ProgramWatcher](ob.ops.ctx, ob.p, name)
	if err != nil {
		return err
	}
	if !ok {
		return runtime.ErrUnsupported
	}
	return w.AwaitProgramGone(ob.ops.ctx, name, names)
}

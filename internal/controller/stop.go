package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// exitTime is how long an exit event may lag behind the exit.
const exitTime = 500 * time.Millisecond

// stops carries out stops and drains, and records the ends of sessions.
type stops struct {
	*core
	l *loop
}

// stop ends a session now. Requested ends do not count against the restart
// budget; a zombie's does.
func (sp *stops) stop(ag *agentState, why string) {
	sp.l.begin(ag, opStop)
	sp.noteAgent(ag, api.EventStopping, why, "")
	t, screen := sp.target(ag), ""
	sp.endSession(ag, func() error {
		switch why {
		case plan.WhyZombie:
			_, screen = lastWords(sp.ops.ctx, sp.p, t.session)
		case plan.WhyDrained:
			_ = setMeta(sp.ops.ctx, sp.p, t.session, map[string]string{agent.MetaDrained: "1"}) // only a note for others
		}
		return stopOne(sp.ops.ctx, sp.p, t)
	}, func(exit *runtime.Exit, err error) { sp.ended(ag, why, screen, exit, err) })
}

// gently stops an agent within shutdown_timeout; see stopAll.
func (sp *stops) gently(ag *agentState, why string) {
	sp.l.begin(ag, opStop)
	ag.op.intended = true
	sp.noteAgent(ag, api.EventStopping, why, "")
	t, limit := sp.target(ag), sp.o.City.Daemon.ShutdownTimeout
	sp.endSession(ag, func() error {
		return stopAll(sp.ops.ctx, sp.p, []target{t}, limit, sp.l.shutdown.kill)
	}, func(exit *runtime.Exit, err error) { sp.ended(ag, why, "", exit, err) })
}

// endSession runs a stop in the background, and then calls done on the loop with
// how the session ended: by its exit event or as kept by the backend, nil if
// unknown.
func (sp *stops) endSession(ag *agentState, stop func() error, done func(*runtime.Exit, error)) {
	var exited chan struct{}
	if sp.l.events.ch != nil {
		exited = make(chan struct{})
		ag.op.exited = exited
	}
	name, started := ag.seen.Session, ag.seen.Record.Started
	sp.ops.Go(func() {
		err := stop()
		var kept *runtime.Exit
		if err == nil {
			if kept = keptExit(sp.ops.ctx, sp.p, name, started); kept == nil && exited != nil {
				awaitExit(sp.ops.ctx, exited)
			}
		}
		sp.post(func() {
			ag.op.exited = nil
			if ag.op.exit != nil {
				kept = ag.op.exit
			}
			done(kept, err)
		})
	})
}

// keptExit returns how the session ended since, if the backend keeps that.
func keptExit(ctx context.Context, p runtime.Provider, name string, since time.Time) *runtime.Exit {
	r, ok := runtime.As[runtime.ExitReporter](p)
	if !ok {
		return nil
	}
	exit, err := query.Ask(ctx, func(ctx context.Context) (*runtime.Exit, error) { return r.LastExit(ctx, name) })
	if err != nil || exit == nil || exit.Time.Before(since) {
		return nil
	}
	return exit
}

func awaitExit(ctx context.Context, exited <-chan struct{}) {
	limit := time.NewTimer(exitTime)
	defer limit.Stop()
	select {
	case <-exited:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// ended applies the result of a stop.
func (sp *stops) ended(ag *agentState, why, screen string, exit *runtime.Exit, err error) {
	ag.op.exitSeen = false
	sp.l.endOp(ag)
	if err != nil {
		ag.queryErr = err.Error()
		sp.logf("%s: cannot stop: %v", ag.name(), err)
		if errors.Is(err, errNewer) {
			ag.seen.Presence = plan.Unknown
		}
		sp.l.observer.observe()
		return
	}
	ag.seen.Presence, ag.queryErr = plan.Gone, ""
	switch why {
	case plan.WhyZombie:
		sp.died(ag, &runtime.Exit{Code: -1, Reason: "its process was gone", Time: time.Now()}, screen)
		return
	case plan.WhyIdle:
		ag.seen.Record.IdleStopped = true
		if sp.o.Background != nil {
			sp.l.completions.fetch() // learn what is waiting for it
		}
	}
	ag.op.intended = true
	sp.died(ag, stopped(exit), "")
}

// stopped returns the exit of a session that was stopped; nil stands for an
// unknown exit.
func stopped(exit *runtime.Exit) *runtime.Exit {
	if exit == nil {
		return &runtime.Exit{Code: -1, Reason: runtime.ReasonStopped, Time: time.Now()}
	}
	known := *exit
	known.Reason = runtime.ReasonStopped
	return &known
}

// probe confirms an exit (a late event may be about an older incarnation) and
// reads the last screen before a start replaces it.
func (sp *stops) probe(ag *agentState, exit *runtime.Exit) {
	sp.l.begin(ag, opProbe)
	name := ag.seen.Session
	sp.ops.Go(func() {
		var running bool
		var err error
		var e *runtime.Exit
		var screen string
		together( // the restart waits for the slower of them
			func() {
				running, err = query.Ask(sp.ops.ctx, func(ctx context.Context) (bool, error) { return sp.p.IsRunning(ctx, name) })
			},
			func() { e, screen = lastWords(sp.ops.ctx, sp.p, name) },
		)
		if e != nil {
			exit = e
		}
		sp.post(func() {
			sp.l.endOp(ag)
			switch {
			case err != nil:
				ag.queryErr = err.Error()
				sp.l.observer.observe()
			case !running:
				sp.died(ag, exit, screen)
				ag.seen.Presence, ag.queryErr = plan.Gone, ""
			}
		})
	})
}

// undrainTime is how long after a drain was cancelled its interrupt may still
// end an agent.
const undrainTime = 10 * time.Second

// died records the end of a session.
func (sp *stops) died(ag *agentState, exit *runtime.Exit, screen string) {
	r, now := &ag.seen.Record, time.Now()
	if exit == nil {
		exit = &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown, Time: now}
	}
	undrained := !ag.undrained.IsZero() && now.Sub(ag.undrained) < undrainTime
	asked := ag.op.intended || undrained || !ag.seen.Drain.Since.IsZero() || r.Stopped || r.Drained || sp.l.suspended.by(ag) != "" || ag.spec == nil
	r.LastExit, r.Open, ag.seen.Occupant = exit, false, ""
	ag.seen.Drain, ag.seen.RestartAsked, ag.seen.Attached, ag.seen.Hashes = plan.Drain{}, false, false, agent.Hashes{}
	ag.op.intended = false
	switch {
	case ag.oneShot() && !asked:
		r.Job.Done, r.Job.Code = true, exit.Code
		if exit.Code != 0 {
			r.LastScreen = screen
		}
		kind := api.EventExited
		if exit.Code != 0 {
			kind = api.EventCrashed
		}
		sp.noteEnd(ag, kind, exit, r.LastScreen, "one_shot")
	case asked:
		sp.noteEnd(ag, api.EventExited, exit, "", "")
	case ag.finishes(exit):
		sp.finished(ag, exit, screen)
	default:
		r.LastScreen = screen
		if exit.Code == exitNotFound && exit.Signal == "" {
			r.LastHint = notFoundHint
		}
		r.Died(now, sp.l.budget())
		sp.noteEnd(ag, api.EventCrashed, exit, screen, "")
		sp.quarantined(ag)
	}
	sp.l.save(ag)
	sp.l.pools.hook(ag, "on_death", onDeath)
	sp.l.waits.exited(ag)
}

// quarantined reports when a quarantined agent is tried again.
func (sp *stops) quarantined(ag *agentState) {
	if r := &ag.seen.Record; r.Quarantined() {
		sp.noteAgent(ag, api.EventQuarantined, "", fmt.Sprintf("try %d at %s", r.Tries, r.RetryAt.UTC().Format(retryTime)))
	}
}

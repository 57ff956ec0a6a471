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

// stopPause is the pause after a stop that failed, before its session is observed.
const stopPause = time.Second

// stops carries out stops and drains, and records the ends of sessions.
type stops struct {
	*core
	l *loop
}

// stop ends a session now. Requested ends do not count against the restart
// budget; that of a zombie or a stuck agent does.
func (sp *stops) stop(ag *agentState, why string) {
	saved := sp.begin(ag, why)
	t, screen := sp.target(ag), ""
	sp.endSession(ag, func() error {
		saved()
		switch why {
		case plan.WhyZombie, plan.WhyStuck:
			_, screen = lastWords(sp.ops.ctx, sp.p, t.session)
		case plan.WhyDrained:
			seekAll(sp.ops.ctx, t)
			_ = setMeta(sp.ops.ctx, sp.p, t.session, map[string]string{agent.MetaDrained: "1"}) // only a note for others
		}
		return stopOne(sp.ops.ctx, sp.p, t)
	}, func(exit *runtime.Exit, err error) { sp.ended(ag, why, screen, exit, err) })
}

// begin records that a stop begins, so that the end it causes is no crash even if its
// outcome is never learned. saved waits until that is on disk.
func (sp *stops) begin(ag *agentState, why string) (saved func()) {
	sp.l.begin(ag, opStop)
	sp.noteAgent(ag, api.EventStopping, why, "")
	if why == plan.WhyZombie || why == plan.WhyStuck {
		return func() {}
	}
	ag.seen.Record.Ending, ag.seen.Record.EndingAt = why, time.Now()
	commit := sp.l.save(ag)
	return func() {
		if commit != nil {
			_ = commit.Wait() // save logs it; the stop goes on
		}
	}
}

// gently stops an agent within shutdown_timeout; see stopAll.
func (sp *stops) gently(ag *agentState, why string) {
	saved := sp.begin(ag, why)
	ag.op.intended = true
	t, limit, known := sp.target(ag), sp.o.City.Daemon.ShutdownTimeout, ag.watch.lastActivity
	sp.endSession(ag, func() error {
		saved()
		s := newStopper(sp.p, []target{t}, limit)
		if why == plan.WhyIdle {
			s.still = func(ctx context.Context) error {
				return endIdle(runtime.WithGrace(ctx, limit), sp.p, t.session, known)
			}
		}
		return s.stop(sp.ops.ctx, limit, sp.l.shutdown.kill)
	}, func(exit *runtime.Exit, err error) { sp.ended(ag, why, "", exit, err) })
}

// endIdle returns runtime.ErrActive if a session did something since it was found idle,
// such as to take a message; known is its last activity then. A backend that can look and
// stop at once has stopped it otherwise.
func endIdle(ctx context.Context, p runtime.Provider, name string, known time.Time) error {
	if b, ok, err := runtime.AsFor[runtime.IdleStopper](ctx, p, name); err == nil && ok {
		if err := b.StopIdle(ctx, name, known); errors.Is(err, runtime.ErrActive) {
			return err
		}
		return nil // the stop reports what is wrong
	}
	last, err := query.Ask(ctx, func(ctx context.Context) (time.Time, error) { return p.GetLastActivity(ctx, name) })
	if err == nil && !last.Equal(known) {
		return runtime.ErrActive
	}
	return nil
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
		ag.cannotTell(err)
		sp.logf("%s: cannot stop: %v", ag.name(), err)
		ag.op.intended = false          // Ending still excuses its end for a while
		ag.seen.Presence = plan.Unknown // until it is observed again: no retry at once
		sp.l.observer.observeBy(time.Now().Add(stopPause))
		return
	}
	ag.seen.Presence, ag.queryErr = plan.Gone, ""
	switch why {
	case plan.WhyZombie:
		sp.died(ag, &runtime.Exit{Code: -1, Reason: "its process was gone", Time: time.Now()}, screen)
		return
	case plan.WhyStuck:
		sp.died(ag, &runtime.Exit{Code: -1, Reason: "it was stuck, and on_stuck is restart", Time: time.Now()}, screen)
		return
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
				ag.cannotTell(err)
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
	asked := ag.op.intended || undrained || r.Ending != "" || !ag.seen.Drain.Since.IsZero() || r.Stopped || r.Drained || sp.l.suspended.by(ag) != "" || ag.spec == nil
	if r.Ending == plan.WhyIdle {
		r.IdleStopped = true
		if sp.o.Background != nil {
			sp.l.completions.fetch() // learn what is waiting for it
		}
	}
	r.LastExit, r.Open, ag.seen.Occupant = exit, false, ""
	r.Ending, r.EndingAt = "", time.Time{}
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
	case exit.Disrupted:
		r.LastScreen = screen
		r.Disrupted()
		sp.noteEnd(ag, api.EventExited, exit, screen, "")
	default:
		r.LastScreen = screen
		if exit.Code == exitNotFound && exit.Signal == "" {
			r.LastHint = ag.notFound()
		}
		r.Died(now, sp.l.budget(ag, exit))
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
		why := ""
		if r.Hold != 0 {
			why = "each start repeats its prompt"
		}
		sp.noteAgent(ag, api.EventQuarantined, why, fmt.Sprintf("try %d at %s", r.Tries, r.RetryAt.UTC().Format(retryTime)))
	}
}

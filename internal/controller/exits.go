package controller

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

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
				running, err = ask(sp.ops.ctx, func(ctx context.Context) (bool, error) { return sp.p.IsRunning(ctx, name) })
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

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

// The back-off of a subscription that cannot be had.
const (
	firstResubscribe = 500 * time.Millisecond
	maxResubscribe   = 30 * time.Second
)

// subscription follows the events of the provider, if it has any.
type subscription struct {
	l        *loop
	ch       <-chan runtime.Event // nil: not subscribed
	inFlight bool
	retryAt  time.Time // subscribe again then; zero: no need
	pause    time.Duration
}

// subscribe follows the provider's events, where it has them. Until it does,
// and whenever it cannot, the patrol remains, and it tries again. What happened
// in between is found by a look.
func (sb *subscription) subscribe() {
	src, ok := runtime.As[runtime.EventSource](sb.l.p)
	if !ok || sb.inFlight || sb.ch != nil {
		return
	}
	sb.inFlight, sb.retryAt = true, time.Time{}
	sb.l.ops.Go(func() {
		ch, err := src.Events(sb.l.ops.ctx)
		sb.l.post(func() { sb.subscribed(ch, err) })
	})
}

func (sb *subscription) subscribed(ch <-chan runtime.Event, err error) {
	sb.inFlight = false
	if err == nil {
		sb.ch, sb.pause = ch, 0
		sb.l.observer.observe()
		return
	}
	if sb.pause == 0 {
		sb.l.logf("no events from the session backend, the patrol remains: %v", err)
	}
	sb.pause = min(max(2*sb.pause, firstResubscribe), maxResubscribe)
	sb.retryAt = time.Now().Add(sb.pause)
}

// event acts on something the provider pushed.
func (sb *subscription) take(ev runtime.Event, ok bool) {
	if !ok {
		sb.ch = nil
		if sb.l.ops.ctx.Err() == nil && !sb.l.goal.ended && !sb.l.shutdown.begun { // it would start the server that the stop ends
			sb.subscribe()
		}
		return
	}
	m := sb.l.agents.all[ev.Session]
	if m == nil || ev.Kind != runtime.EventExited {
		return
	}
	switch {
	case m.op.name != "":
		m.op.exitSeen = true
		if ev.Exit != nil && !ev.Exit.Time.Before(m.seen.Record.Started) {
			m.op.exit = ev.Exit
		}
		if m.op.over != nil {
			close(m.op.over)
			m.op.over = nil
		}
	case m.foreign || m.seen.Presence == plan.Unknown:
		sb.l.observer.observe()
	case m.seen.Presence != plan.Gone:
		sb.l.stops.probe(m, ev.Exit)
	}
}

// probe makes sure of an exit (a late event may be about an older incarnation)
// and reads the last screen before a start replaces it.
func (sp *stops) probe(m *member, exit *runtime.Exit) {
	sp.l.begin(m, opProbe)
	name := m.seen.Session
	sp.l.ops.Go(func() {
		var running bool
		var err error
		var e *runtime.Exit
		var screen string
		together( // the restart waits for the slowest of them
			func() {
				running, err = ask(sp.l.ops.ctx, func(ctx context.Context) (bool, error) { return sp.l.p.IsRunning(ctx, name) })
			},
			func() { e, screen = lastWords(sp.l.ops.ctx, sp.l.p, name) },
		)
		if e != nil {
			exit = e
		}
		sp.l.post(func() {
			sp.l.endOp(m)
			switch {
			case err != nil:
				m.queryErr = err.Error()
				sp.l.observer.observe()
			case !running:
				sp.died(m, exit, screen)
				m.seen.Presence, m.queryErr = plan.Gone, ""
			}
		})
	})
}

// spareTime is how long after a drain was taken back its interrupt may still be
// what ends an agent.
const spareTime = 10 * time.Second

// died accounts for the end of a member's session.
func (sp *stops) died(m *member, exit *runtime.Exit, screen string) {
	r, now := &m.seen.Record, time.Now()
	if exit == nil {
		exit = &runtime.Exit{Code: -1, Reason: "unknown", Time: now}
	}
	spared := !m.undrained.IsZero() && now.Sub(m.undrained) < spareTime
	asked := m.op.intended || spared || !m.seen.Drain.Since.IsZero() || r.Stopped || r.Drained || sp.l.suspended.by(m) != "" || m.spec == nil
	r.LastExit, r.Open, m.seen.Occupant = exit, false, ""
	m.seen.Drain, m.seen.RestartAsked, m.seen.Attached, m.seen.Hashes = plan.Drain{}, false, false, agent.Hashes{}
	m.op.intended = false
	switch {
	case m.oneShot() && !asked:
		r.Job.Done, r.Job.Code = true, exit.Code
		if exit.Code != 0 {
			r.LastScreen = screen
		}
		kind := api.EventExited
		if exit.Code != 0 {
			kind = api.EventCrashed
		}
		sp.l.noteEnd(m, kind, exit, r.LastScreen, "one_shot")
	case asked:
		sp.l.noteEnd(m, api.EventExited, exit, "", "")
	case m.finishes(exit):
		sp.finished(m, exit, screen)
	default:
		r.LastScreen = screen
		if exit.Code == exitNotFound && exit.Signal == "" {
			r.LastHint = notFoundHint
		}
		r.Died(now, sp.l.budget())
		sp.l.noteEnd(m, api.EventCrashed, exit, screen, "")
		sp.quarantined(m)
	}
	sp.l.save(m)
	sp.l.pools.hook(m, "on_death", onDeath)
	sp.l.waits.exited(m)
}

// quarantined says when the restart of a member is put off.
func (sp *stops) quarantined(m *member) {
	if r := &m.seen.Record; r.Quarantined() {
		sp.l.noteAgent(m, api.EventQuarantined, "", fmt.Sprintf("try %d at %s", r.Tries, r.RetryAt.UTC().Format(retryTime)))
	}
}

func exitText(e *runtime.Exit) string {
	text := fmt.Sprintf("exit status %d", e.Code)
	switch {
	case e.Signal != "":
		text = e.Signal
	case e.Code < 0:
		text = "exit status unknown"
	}
	if e.Reason != "" && e.Reason != "exited" {
		text += " (" + e.Reason + ")"
	}
	return text
}

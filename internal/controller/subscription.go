package controller

import (
	"time"

	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// The back-off after a failed subscription.
const (
	firstResubscribe = 500 * time.Millisecond
	maxResubscribe   = 30 * time.Second
)

// subscription follows the provider's events, if it has any.
type subscription struct {
	*core
	l        *loop
	ch       <-chan runtime.Event // nil: not subscribed
	inFlight bool
	retryAt  time.Time // subscribe again then; zero: never
	pause    time.Duration
}

// subscribe follows the provider's events. Until it succeeds, the patrol finds
// out what happens, and it tries again. An observation after that finds what was
// missed.
func (sb *subscription) subscribe() {
	src, ok := runtime.As[runtime.EventSource](sb.p)
	if !ok || sb.inFlight || sb.ch != nil {
		return
	}
	sb.inFlight, sb.retryAt = true, time.Time{}
	sb.ops.Go(func() {
		ch, err := src.Events(sb.ops.ctx)
		sb.post(func() { sb.subscribed(ch, err) })
	})
}

func (sb *subscription) subscribed(ch <-chan runtime.Event, err error) {
	sb.inFlight = false
	if err == nil {
		sb.ch, sb.pause = ch, 0
		sb.l.starts.backendReturned()
		sb.l.observer.observe()
		return
	}
	if sb.pause == 0 {
		sb.logf("no events from the session backend, relying on the patrol: %v", err)
		sb.l.observer.observe() // show at once what is not known any more
	}
	sb.pause = min(max(2*sb.pause, firstResubscribe), maxResubscribe)
	sb.retryAt = time.Now().Add(sb.pause)
}

// take handles an event of the provider.
func (sb *subscription) take(ev runtime.Event, ok bool) {
	if !ok {
		sb.ch = nil
		if sb.ops.ctx.Err() == nil && !sb.l.goal.ended && !sb.l.shutdown.begun { // it would start the server that the stop ends
			sb.subscribe()
		}
		return
	}
	ag := sb.l.agents.all[ev.Session]
	if ag != nil {
		sb.l.audit.take(ag, ev)
	}
	if ag == nil || ev.Kind != runtime.EventExited {
		return
	}
	switch {
	case ag.op.name != "":
		ag.op.exitSeen = true
		if ev.Exit != nil && !ev.Exit.Time.Before(ag.seen.Record.Started) {
			ag.op.exit = ev.Exit
		}
		if ag.op.exited != nil {
			close(ag.op.exited)
			ag.op.exited = nil
		}
	case ag.foreign || ag.seen.Presence == plan.Unknown:
		sb.l.observer.observe()
	case ag.seen.Presence != plan.Gone:
		sb.l.stops.probe(ag, ev.Exit)
	}
}

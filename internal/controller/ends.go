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

// subscribe follows the provider's events, where it has them. Until it does,
// and whenever it cannot, the patrol remains, and it tries again. What happened
// in between is found by a look.
func (l *loop) subscribe() {
	src, ok := runtime.As[runtime.EventSource](l.p)
	if !ok || l.subscribing || l.events != nil {
		return
	}
	l.subscribing, l.subscribeAt = true, time.Time{}
	l.work.Go(func() {
		ch, err := src.Events(l.opCtx)
		l.post(func() { l.subscribed(ch, err) })
	})
}

func (l *loop) subscribed(ch <-chan runtime.Event, err error) {
	l.subscribing = false
	if err == nil {
		l.events, l.subscribeWait = ch, 0
		l.look()
		return
	}
	if l.subscribeWait == 0 {
		l.logf("no events from the session backend, the patrol remains: %v", err)
	}
	l.subscribeWait = min(max(2*l.subscribeWait, firstResubscribe), maxResubscribe)
	l.subscribeAt = time.Now().Add(l.subscribeWait)
}

// event acts on something the provider pushed.
func (l *loop) event(ev runtime.Event, ok bool) {
	if !ok {
		l.events = nil
		if l.opCtx.Err() == nil && !l.ended && !l.stopping { // it would start the server that the stop ends
			l.subscribe()
		}
		return
	}
	m := l.members[ev.Session]
	if m == nil || ev.Kind != runtime.EventExited {
		return
	}
	switch {
	case m.op != "":
		m.exitSeen = true
		if ev.Exit != nil && !ev.Exit.Time.Before(m.seen.Record.Started) {
			m.exit = ev.Exit
		}
		if m.over != nil {
			close(m.over)
			m.over = nil
		}
	case m.foreign || m.seen.Presence == plan.Unknown:
		l.look()
	case m.seen.Presence != plan.Gone:
		l.probe(m, ev.Exit)
	}
}

// probe makes sure of an exit (a late event may be about an older incarnation)
// and reads the last screen before a start replaces it.
func (l *loop) probe(m *member, exit *runtime.Exit) {
	l.begin(m, opProbe)
	name := m.seen.Session
	l.work.Go(func() {
		var running bool
		var err error
		var e *runtime.Exit
		var screen string
		together( // the restart waits for the slowest of them
			func() {
				running, err = ask(l.opCtx, func(ctx context.Context) (bool, error) { return l.p.IsRunning(ctx, name) })
			},
			func() { e, screen = lastWords(l.opCtx, l.p, name) },
		)
		if e != nil {
			exit = e
		}
		l.post(func() {
			l.endOp(m)
			switch {
			case err != nil:
				m.queryErr = err.Error()
				l.look()
			case !running:
				l.died(m, exit, screen)
				m.seen.Presence, m.queryErr = plan.Gone, ""
			}
		})
	})
}

// spareTime is how long after a drain was taken back its interrupt may still be
// what ends an agent.
const spareTime = 10 * time.Second

// died accounts for the end of a member's session.
func (l *loop) died(m *member, exit *runtime.Exit, screen string) {
	r, now := &m.seen.Record, time.Now()
	if exit == nil {
		exit = &runtime.Exit{Code: -1, Reason: "unknown", Time: now}
	}
	spared := !m.spared.IsZero() && now.Sub(m.spared) < spareTime
	asked := m.intended || spared || !m.seen.Drain.Since.IsZero() || r.Stopped || r.Drained || l.suspendedBy(m) != "" || m.spec == nil
	r.LastExit, r.Open, m.runs = exit, false, ""
	m.seen.Drain, m.seen.RestartAsked, m.seen.Attached, m.seen.Hashes = plan.Drain{}, false, false, agent.Hashes{}
	m.intended = false
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
		l.noteEnd(m, kind, exit, r.LastScreen, "one_shot")
	case asked:
		l.noteEnd(m, api.EventExited, exit, "", "")
	case m.finishes(exit):
		l.finished(m, exit, screen)
	default:
		r.LastScreen = screen
		if exit.Code == exitNotFound && exit.Signal == "" {
			r.LastHint = notFoundHint
		}
		r.Died(now, l.budget())
		l.noteEnd(m, api.EventCrashed, exit, screen, "")
		l.quarantined(m)
	}
	l.save(m)
	l.hook(m, "on_death", onDeath)
	l.exitWaits(m)
}

// quarantined says when the restart of a member is put off.
func (l *loop) quarantined(m *member) {
	if r := &m.seen.Record; r.Quarantined() {
		l.noteAgent(m, api.EventQuarantined, "", fmt.Sprintf("try %d at %s", r.Tries, r.RetryAt.UTC().Format(retryTime)))
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

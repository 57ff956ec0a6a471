package controller

import (
	"context"
	"errors"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// exitTime is how long the event of an end may come after the end.
const exitTime = 500 * time.Millisecond

// stop ends a session now. Asked-for ends count against no budget; a zombie's
// does.
func (l *loop) stop(m *member, why string) {
	l.begin(m, opStop)
	l.noteAgent(m, api.EventStopping, why, "")
	t, screen := l.target(m), ""
	l.endSession(m, func() error {
		switch why {
		case plan.WhyZombie:
			_, screen = lastWords(l.opCtx, l.p, t.session)
		case plan.WhyDrained:
			_ = setMeta(l.opCtx, l.p, t.session, map[string]string{agent.MetaDrained: "1"}) // a note for others, no more
		}
		return stopOne(l.opCtx, l.p, t)
	}, func(exit *runtime.Exit, err error) { l.stopEnded(m, why, screen, exit, err) })
}

// stopGently stops an agent within shutdown_timeout, see stopAll.
func (l *loop) stopGently(m *member, why string) {
	l.begin(m, opStop)
	m.intended = true
	l.noteAgent(m, api.EventStopping, why, "")
	t, limit := l.target(m), l.o.City.Daemon.ShutdownTimeout
	l.endSession(m, func() error {
		return stopAll(l.opCtx, l.p, []target{t}, limit, l.kill)
	}, func(exit *runtime.Exit, err error) { l.stopEnded(m, why, "", exit, err) })
}

// endSession carries out a stop in the background, and then calls done on the
// loop with how the session ended: as the event of its end says, or the backend
// keeps it; nil when neither tells.
func (l *loop) endSession(m *member, stop func() error, done func(*runtime.Exit, error)) {
	var over chan struct{}
	if l.events != nil {
		over = make(chan struct{})
		m.over = over
	}
	name, started := m.seen.Session, m.seen.Record.Started
	l.work.Go(func() {
		err := stop()
		var kept *runtime.Exit
		if err == nil {
			if kept = keptExit(l.opCtx, l.p, name, started); kept == nil && over != nil {
				awaitOver(l.opCtx, over)
			}
		}
		l.post(func() {
			m.over = nil
			if m.exit != nil {
				kept = m.exit
			}
			done(kept, err)
		})
	})
}

// keptExit is how the session of the name ended since, as far as the backend
// keeps that.
func keptExit(ctx context.Context, p runtime.Provider, name string, since time.Time) *runtime.Exit {
	r, ok := runtime.As[runtime.ExitReporter](p)
	if !ok {
		return nil
	}
	exit, err := ask(ctx, func(ctx context.Context) (*runtime.Exit, error) { return r.LastExit(ctx, name) })
	if err != nil || exit == nil || exit.Time.Before(since) {
		return nil
	}
	return exit
}

func awaitOver(ctx context.Context, over <-chan struct{}) {
	limit := time.NewTimer(exitTime)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// stopEnded takes in the end of a Stop.
func (l *loop) stopEnded(m *member, why, screen string, exit *runtime.Exit, err error) {
	m.exitSeen = false
	l.endOp(m)
	if err != nil {
		m.queryErr = err.Error()
		l.logf("%s: cannot stop: %v", m.name(), err)
		if errors.Is(err, errNewer) {
			m.seen.Presence = plan.Unknown
		}
		l.look()
		return
	}
	m.seen.Presence, m.queryErr = plan.Gone, ""
	switch why {
	case plan.WhyZombie:
		l.died(m, &runtime.Exit{Code: -1, Reason: "its process was gone", Time: time.Now()}, screen)
		return
	case plan.WhyIdle:
		m.seen.Record.Asleep = true
		if l.o.Background != nil {
			l.askEnds() // what waits for it is known from now on
		}
	}
	m.intended = true
	l.died(m, stopped(exit), "")
}

// stopped is the exit of a session that was stopped; nil stands for one that
// nobody can tell.
func stopped(exit *runtime.Exit) *runtime.Exit {
	if exit == nil {
		return &runtime.Exit{Code: -1, Reason: "stopped", Time: time.Now()}
	}
	told := *exit
	told.Reason = "stopped"
	return &told
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/runtime"
)

// errNewer means that the session is a newer incarnation than the one that was
// to be stopped.
var errNewer = errors.New("a newer instance has taken its place")

// goneInterval is how often a provider without events is asked whether
// interrupted sessions have ended.
const goneInterval = 50 * time.Millisecond

// target is one session to stop.
type target struct {
	session string
	agent   string
	token   string   // the incarnation that is meant; "" = any
	deps    []string // agents that must outlive it
}

// stopOne ends a session, unless it is a newer incarnation.
func stopOne(ctx context.Context, p runtime.Provider, t target) error {
	if t.token != "" {
		have, err := ask(ctx, func(ctx context.Context) (string, error) { return p.GetMeta(ctx, t.session, agent.MetaToken) })
		if err != nil {
			return fmt.Errorf("stop %s: %w", t.session, err)
		}
		if have != "" && have != t.token {
			return fmt.Errorf("stop %s: %w", t.session, errNewer)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return p.Stop(ctx, t.session)
}

// stopAll ends sessions as fast as they let it: it interrupts all, gives them
// up to limit to end by themselves, and stops the rest, dependents first.
func stopAll(ctx context.Context, p runtime.Provider, targets []target, limit time.Duration) error {
	left := bySession(targets)
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	var events <-chan runtime.Event
	if src, ok := runtime.As[runtime.EventSource](p); ok {
		if ch, err := src.Events(watch); err == nil {
			events = ch
		}
	}
	listed, err := forgetGone(ctx, p, left)
	if err != nil {
		// Nobody can tell what runs: Stop itself is idempotent and will say.
		return stopLevels(ctx, p, left)
	}
	interrupt(ctx, p, left)
	silent := slices.ContainsFunc(targets, func(t target) bool { return !pushes(ctx, p, t.session) })
	waitGone(ctx, p, left, events, silent, limit)
	if !listed {
		left = bySession(targets) // a backend that cannot list may keep what only its Stop removes
	}
	if err := stopLevels(ctx, p, left); err != nil {
		return err
	}
	return stopLate(ctx, p, targets)
}

// stopLate makes sure: a start that was cut short may have been carried out by
// its backend while the rest was being stopped.
func stopLate(ctx context.Context, p runtime.Provider, targets []target) error {
	left := bySession(targets)
	if _, err := forgetGone(ctx, p, left); err != nil || len(left) == 0 {
		return err
	}
	return stopLevels(ctx, p, left)
}

func bySession(targets []target) map[string]target {
	m := make(map[string]target, len(targets))
	for _, t := range targets {
		m[t.session] = t
	}
	return m
}

// forgetGone removes from left what does not run. listed is false when the
// backend gave no complete list, so that each session was asked alone.
func forgetGone(ctx context.Context, p runtime.Provider, left map[string]target) (listed bool, err error) {
	list, err := ask(ctx, func(ctx context.Context) ([]string, error) { return p.ListRunning(ctx, "") })
	if err != nil && !routes(p) && !errors.Is(err, runtime.ErrUnsupported) {
		return false, err
	}
	maps.DeleteFunc(left, func(name string, _ target) bool {
		switch {
		case slices.Contains(list, name):
			return false
		case err == nil:
			return true
		}
		running, err := ask(ctx, func(ctx context.Context) (bool, error) { return p.IsRunning(ctx, name) })
		return err == nil && !running
	})
	return err == nil, nil
}

func interrupt(ctx context.Context, p runtime.Provider, left map[string]target) {
	list := make([]string, 0, len(left))
	for name := range left {
		list = append(list, name)
	}
	slices.Sort(list)
	parallel(len(list), func(i int) {
		_, _ = ask(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.Interrupt(ctx, list[i]) })
	})
}

// waitGone waits until nothing of left runs, limit has passed or ctx ends. With
// silent sessions among them the backend is asked, beside its events.
func waitGone(ctx context.Context, p runtime.Provider, left map[string]target, events <-chan runtime.Event, silent bool, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var poll <-chan time.Time
	if events == nil || silent {
		t := time.NewTicker(goneInterval)
		defer t.Stop()
		poll = t.C
	}
	for len(left) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case ev, ok := <-events:
			if !ok {
				events = nil
				t := time.NewTicker(goneInterval)
				defer t.Stop()
				poll = t.C
				continue
			}
			if ev.Kind == runtime.EventExited {
				delete(left, ev.Session)
			}
		case <-poll:
			_, _ = forgetGone(ctx, p, left) // unknown is not gone
		}
	}
}

// stopLevels stops what is left, those that others depend on last.
func stopLevels(ctx context.Context, p runtime.Provider, left map[string]target) error {
	var errs []error
	for _, level := range levels(left) {
		results := make([]error, len(level))
		done := make(chan struct{}, len(level))
		for i, t := range level {
			go func() {
				results[i] = stopOne(ctx, p, t)
				done <- struct{}{}
			}()
		}
		for range level {
			<-done
		}
		errs = append(errs, results...)
	}
	return errors.Join(errs...)
}

// levels orders targets for a stop: nothing in a level is needed by a later
// one, and a level can go in parallel. A cycle ends in one level.
func levels(left map[string]target) [][]target {
	byAgent := map[string]target{}
	for _, t := range left {
		byAgent[t.agent] = t
	}
	var out [][]target
	for len(byAgent) > 0 {
		needed := map[string]bool{}
		for _, t := range byAgent {
			for _, d := range t.deps {
				needed[d] = true
			}
		}
		var level []target
		for name, t := range byAgent {
			if !needed[name] {
				level = append(level, t)
			}
		}
		if len(level) == 0 {
			for _, t := range byAgent {
				level = append(level, t)
			}
		}
		for _, t := range level {
			delete(byAgent, t.agent)
		}
		slices.SortFunc(level, func(a, b target) int {
			if a.agent < b.agent {
				return -1
			}
			return 1
		})
		out = append(out, level)
	}
	return out
}

// shutdown stops the city: no more starts, then everything that runs ends, then
// the loop. It is idempotent.
func (l *loop) shutdown() {
	if l.stopping {
		return
	}
	l.stopping = true
	l.logf("stopping the city")
	l.noMore()
	l.awaitIdle(func() {
		var targets []target
		for _, m := range l.members {
			if !m.foreign && (m.seen.Owned || m.seen.Record.Open || m.seen.Presence == Alive || m.seen.Presence == Zombie) && m.seen.Presence != Gone {
				m.op, m.intended = opStop, true
				targets = append(targets, l.target(m))
			}
		}
		limit := l.o.City.Daemon.ShutdownTimeout
		l.work.Go(func() {
			err := stopAll(l.opCtx, l.p, targets, limit)
			if err == nil {
				l.teardown()
			}
			l.post(func() { l.allStopped(err) })
		})
	})
}

// awaitIdle calls fn on the loop when no operation is in flight.
func (l *loop) awaitIdle(fn func()) {
	idle := func() bool {
		for _, m := range l.members {
			if m.op != "" {
				return false
			}
		}
		return !l.looking
	}
	a := await{met: idle, done: make(chan struct{})}
	l.awaits = append(l.awaits, a)
	l.work.Go(func() {
		select {
		case <-a.done:
			l.post(fn)
		case <-l.opCtx.Done():
		}
	})
}

// teardown ends a server behind the sessions that has none left, of any city.
func (l *loop) teardown() {
	server, ok := runtime.As[runtime.ServerLifecycleProvider](l.p)
	if !ok {
		return
	}
	_, err := ask(l.opCtx, func(ctx context.Context) (struct{}, error) { return struct{}{}, server.TeardownServer(ctx) })
	if err != nil {
		l.logf("the server of the sessions is left: %v", err)
	}
}

// allStopped ends the run.
func (l *loop) allStopped(err error) {
	for _, m := range l.members {
		if m.op != opStop {
			continue
		}
		m.op = ""
		if err == nil {
			m.seen.Presence, m.seen.Record.Open, m.seen.Drain = Gone, false, Drain{}
			l.save(m)
		}
	}
	if err != nil {
		l.logf("the city was not stopped completely: %v", err)
	} else if e := l.book.EndRun(); e != nil {
		l.logf("cannot save the end of the run: %v", e)
	}
	l.stopErr, l.stopDone = err, true
	select {
	case l.stopped <- err:
	default:
	}
}

// StopCity ends every agent of a city that has no controller, as a controller
// would. ErrControllerRunning when it has one.
func StopCity(ctx context.Context, o Options) (err error) {
	specs, err := agent.Build(o.City, o.Build)
	if err != nil {
		return err
	}
	lk, err := takeLock(o.City.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lk.Close()) }()
	l, err := newLoop(o, specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.book.Close()) }()
	l.stopOnly = true
	return l.run(ctx)
}

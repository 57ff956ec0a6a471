package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// errNewer means that the session is a newer incarnation than the one to stop.
var errNewer = errors.New("a newer instance has taken its place")

// goneInterval is how often interrupted sessions are polled.
const goneInterval = 50 * time.Millisecond

// target is one session to stop.
type target struct {
	session string
	agent   string
	token   string   // the incarnation; "" = any
	deps    []string // agents that must outlive it

	seek func(ctx context.Context) // records its conversation; nil if there is nothing to record
}

// seekAll records the conversations of sessions that are about to end.
func seekAll(ctx context.Context, targets ...target) {
	ctx, cancel := context.WithTimeout(ctx, seekLast)
	defer cancel()
	var all sync.WaitGroup
	for _, t := range targets {
		if t.seek != nil {
			all.Go(func() { t.seek(ctx) })
		}
	}
	all.Wait()
}

// stopOne ends a session unless it is a newer incarnation.
func stopOne(ctx context.Context, p runtime.Provider, t target) error {
	if t.token != "" {
		have, err := query.Ask(ctx, func(ctx context.Context) (string, error) { return p.GetMeta(ctx, t.session, agent.MetaToken) })
		if err != nil {
			return fmt.Errorf("stop %s: %w", t.session, err)
		}
		if have != "" && have != t.token {
			return fmt.Errorf("stop %s: %w", t.session, errNewer)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout+runtime.Grace(ctx, 0))
	defer cancel()
	return p.Stop(ctx, t.session)
}

// politeTime is how long an interrupted session of unknown activity may take to
// end by itself.
const politeTime = 250 * time.Millisecond

// stopper ends sessions within one deadline.
type stopper struct {
	p        runtime.Provider
	targets  []target
	deadline time.Time
	still    func(context.Context) error // nil, or asked before anything is ended; an error gives up
}

func newStopper(p runtime.Provider, targets []target, limit time.Duration) *stopper {
	return &stopper{p: p, targets: targets, deadline: time.Now().Add(limit)}
}

// stopAll ends sessions as fast as they allow, within limit for all of them: it
// interrupts those that are working, then hangs up on the rest, dependents
// first, and kills what remains after limit. Closing now kills at once. A limit
// ≤ 0 interrupts nothing and kills at once. A backend that is not reached is tried again
// within limit.
func stopAll(ctx context.Context, p runtime.Provider, targets []target, limit time.Duration, now <-chan struct{}) error {
	s := newStopper(p, targets, limit)
	for {
		err := s.stop(ctx, limit, now)
		if !errors.Is(err, runtime.ErrBackendUnreachable) || !s.waits(now) {
			return err
		}
	}
}

// againPause is between attempts to reach a backend.
const againPause = 500 * time.Millisecond

// waits waits before another attempt, and reports false if there is no time for one.
func (s *stopper) waits(now <-chan struct{}) bool {
	if time.Until(s.deadline) < againPause {
		return false
	}
	select {
	case <-now:
		return false
	case <-time.After(againPause):
		return true
	}
}

func (s *stopper) stop(ctx context.Context, limit time.Duration, now <-chan struct{}) error {
	finished := make(chan struct{})
	var killing sync.WaitGroup
	defer killing.Wait()
	defer close(finished)
	killing.Go(func() {
		select {
		case <-now:
			s.killAll(ctx)
		case <-finished:
		}
	})
	return s.run(ctx, limit, now)
}

func (s *stopper) run(ctx context.Context, limit time.Duration, now <-chan struct{}) error {
	if s.still != nil {
		if err := s.still(ctx); err != nil {
			return err
		}
	}
	left := bySession(s.targets)
	listed, err := forgetGone(ctx, s.p, left)
	if err != nil {
		// Cannot tell what runs: Stop is idempotent and will report it.
		return s.stopLevels(ctx, left)
	}
	if limit > 0 {
		seekAll(ctx, s.targets...)
		s.interrupt(ctx, left, now)
	}
	select {
	case <-now:
		s.deadline = time.Now() // killAll may come late: leave nothing to be gentle with
	default:
	}
	if !listed {
		left = bySession(s.targets) // a backend that cannot list may keep what only its Stop removes
	}
	if s.still != nil { // the questions may have taken long
		if err := s.still(ctx); err != nil {
			return err
		}
	}
	if err := s.stopLevels(ctx, left); err != nil {
		return err
	}
	return s.stopLate(ctx)
}

// killAll kills every target that still runs, whatever else is in progress.
func (s *stopper) killAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range s.targets {
		all.Go(func() { _ = stopOne(runtime.WithGrace(ctx, 0), s.p, t) }) // the Stop in progress reports what remains
	}
	all.Wait()
}

// interrupt interrupts what is or may be working, and waits until it has ended
// or stopped working: half of the time at most, and only briefly if the activity
// is unknown. An agent that is idle, done or blocked has nothing to interrupt.
func (s *stopper) interrupt(ctx context.Context, left map[string]target, now <-chan struct{}) {
	working, unknown := s.busy(ctx, left)
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	var events <-chan runtime.Event
	if src, ok := runtime.As[runtime.EventSource](s.p); ok {
		if ch, err := src.Events(watch); err == nil {
			events = ch
		}
	}
	both := maps.Clone(working)
	maps.Copy(both, unknown)
	interrupt(ctx, s.p, both)
	half := time.Until(s.deadline) / 2
	w := politeWait{p: s.p, left: left, working: working, unknown: unknown}
	w.until(ctx, events, now, min(politeTime, half), half)
}

// busy returns the sessions that are working, and those whose activity is
// unknown.
func (s *stopper) busy(ctx context.Context, left map[string]target) (working, unknown map[string]target) {
	latest := activities(ctx, s.p, slices.Collect(maps.Keys(left)))
	working, unknown = map[string]target{}, map[string]target{}
	for name, t := range left {
		switch a := latest[name]; a.State {
		case runtime.ActivityWorking, runtime.ActivityStarting, runtime.ActivityStuck:
			working[name] = t
		case "", runtime.ActivityUnknown:
			unknown[name] = t
		}
	}
	return working, unknown
}

// stopLate stops what appeared meanwhile: the backend may have carried out a
// start that was cut short.
func (s *stopper) stopLate(ctx context.Context) error {
	left := bySession(s.targets)
	if _, err := forgetGone(ctx, s.p, left); err != nil || len(left) == 0 {
		return err
	}
	return s.stopLevels(ctx, left)
}

func bySession(targets []target) map[string]target {
	m := make(map[string]target, len(targets))
	for _, t := range targets {
		m[t.session] = t
	}
	return m
}

// forgetGone removes sessions that are not running from left. listed is false if
// the backend has no complete list, so that each session was queried alone.
func forgetGone(ctx context.Context, p runtime.Provider, left map[string]target) (listed bool, err error) {
	list, err := query.Ask(ctx, func(ctx context.Context) ([]string, error) { return p.ListRunning(ctx, "") })
	if err != nil && !partial(p, err) {
		return false, err
	}
	maps.DeleteFunc(left, func(name string, _ target) bool {
		switch {
		case slices.Contains(list, name):
			return false
		case err == nil:
			return true
		}
		running, err := query.Ask(ctx, func(ctx context.Context) (bool, error) { return p.IsRunning(ctx, name) })
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
		_, _ = query.Ask(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.Interrupt(ctx, list[i]) })
	})
}

// politeWait waits for interrupted sessions.
type politeWait struct {
	p                      runtime.Provider
	left, working, unknown map[string]target // left includes the others
}

// until returns when no interrupted session is worth waiting for: it has ended,
// stopped working, or its time is over: short for unknown activity, long for
// working sessions. It uses exit events if the backend has them, and polls for
// the rest.
func (w *politeWait) until(ctx context.Context, events <-chan runtime.Event, now <-chan struct{}, short, long time.Duration) {
	shortly, later := time.NewTimer(short), time.NewTimer(long)
	poll := time.NewTicker(goneInterval)
	defer shortly.Stop()
	defer later.Stop()
	defer poll.Stop()
	for len(w.working)+len(w.unknown) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-now:
			return
		case <-later.C:
			return
		case <-shortly.C:
			w.unknown = nil
		case ev, ok := <-events:
			if !ok {
				events = nil
			} else if ev.Kind == runtime.EventExited {
				w.ended(ev.Session)
			}
		case <-poll.C:
			w.look(ctx)
		}
	}
}

func (w *politeWait) ended(session string) {
	delete(w.left, session)
	delete(w.working, session)
	delete(w.unknown, session)
}

// look drops sessions that have ended or stopped working. Unknown ones stay.
func (w *politeWait) look(ctx context.Context) {
	if _, err := forgetGone(ctx, w.p, w.left); err != nil {
		return
	}
	gone := func(name string, _ target) bool { _, ok := w.left[name]; return !ok }
	maps.DeleteFunc(w.working, gone)
	maps.DeleteFunc(w.unknown, gone)
	latest := activities(ctx, w.p, slices.Collect(maps.Keys(w.working)))
	maps.DeleteFunc(w.working, func(name string, _ target) bool {
		switch latest[name].State {
		case runtime.ActivityIdle, runtime.ActivityDone, runtime.ActivityBlocked, runtime.ActivityError:
			return true
		}
		return false
	})
}

// stopLevels stops the rest, those that others depend on last. The levels share
// the time to the deadline; after it they are killed.
func (s *stopper) stopLevels(ctx context.Context, left map[string]target) error {
	var errs []error
	order := levels(left)
	for i, level := range order {
		results := make([]error, len(level))
		ctx := runtime.WithGrace(ctx, time.Until(s.deadline)/time.Duration(len(order)-i))
		var stops sync.WaitGroup
		for j, t := range level {
			stops.Go(func() { results[j] = stopOne(ctx, s.p, t) })
		}
		stops.Wait()
		errs = append(errs, results...)
	}
	return errors.Join(errs...)
}

// levels orders targets for a stop: no level needs anything in an earlier one,
// and its sessions can end in parallel. A cycle ends in one level.
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

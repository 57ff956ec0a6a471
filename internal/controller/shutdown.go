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
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/runtime"
)

// errNewer means that the session is a newer incarnation than the one that was
// to be stopped.
var errNewer = errors.New("a newer instance has taken its place")

// goneInterval is how often the provider is asked what interrupted sessions do.
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
	ctx, cancel := context.WithTimeout(ctx, stopTimeout+runtime.Grace(ctx, 0))
	defer cancel()
	return p.Stop(ctx, t.session)
}

// politeTime is how long an interrupted session whose activity is unknown has to end
// by itself.
const politeTime = 250 * time.Millisecond

// stopper ends sessions within one deadline.
type stopper struct {
	p        runtime.Provider
	targets  []target
	deadline time.Time
}

// stopAll ends sessions as fast as they let it and within limit over all of
// them: it interrupts what works, then hangs up on what is left, dependents
// first, and kills what still runs at the end of limit. When now is closed it
// kills at once. A limit ≤ 0 interrupts nobody and kills at once.
func stopAll(ctx context.Context, p runtime.Provider, targets []target, limit time.Duration, now <-chan struct{}) error {
	s := &stopper{p: p, targets: targets, deadline: time.Now().Add(limit)}
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
	left := bySession(s.targets)
	listed, err := forgetGone(ctx, s.p, left)
	if err != nil {
		// Nobody can tell what runs: Stop itself is idempotent and will say.
		return s.stopLevels(ctx, left)
	}
	if limit > 0 {
		s.interrupt(ctx, left, now)
	}
	if !listed {
		left = bySession(s.targets) // a backend that cannot list may keep what only its Stop removes
	}
	if err := s.stopLevels(ctx, left); err != nil {
		return err
	}
	return s.stopLate(ctx)
}

// killAll kills every target that still runs, whatever else is under way.
func (s *stopper) killAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range s.targets {
		all.Go(func() { _ = stopOne(runtime.WithGrace(ctx, 0), s.p, t) }) // the Stop under way reports what remains
	}
	all.Wait()
}

// interrupt interrupts what works, or may be working, and waits until it has
// ended or works no more: half of the time at most, and not long where nobody
// knows what it is doing. An agent that is idle, done or blocked has nothing to
// interrupt.
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

// busy returns the sessions that work, and those whose activity is unknown.
func (s *stopper) busy(ctx context.Context, left map[string]target) (working, unknown map[string]target) {
	doing := activities(ctx, s.p, slices.Collect(maps.Keys(left)))
	working, unknown = map[string]target{}, map[string]target{}
	for name, t := range left {
		switch a := doing[name]; a.State {
		case runtime.ActivityWorking, runtime.ActivityStarting, runtime.ActivityStuck:
			working[name] = t
		case "", runtime.ActivityUnknown:
			unknown[name] = t
		}
	}
	return working, unknown
}

// stopLate makes sure: a start that was cut short may have been carried out by
// its backend while the rest was being stopped.
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

// politeWait waits for interrupted sessions.
type politeWait struct {
	p                      runtime.Provider
	left, working, unknown map[string]target // left holds the others, too
}

// until returns when no interrupted session is worth waiting for: it has ended,
// works no more, or its time is over: unknown sessions have short, working ones
// long. Exits come as events where the backend has them; the rest is asked for
// every goneInterval, as long as something is interrupted.
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

// look forgets what has ended or works no more. What cannot be told stays.
func (w *politeWait) look(ctx context.Context) {
	if _, err := forgetGone(ctx, w.p, w.left); err != nil {
		return
	}
	gone := func(name string, _ target) bool { _, ok := w.left[name]; return !ok }
	maps.DeleteFunc(w.working, gone)
	maps.DeleteFunc(w.unknown, gone)
	doing := activities(ctx, w.p, slices.Collect(maps.Keys(w.working)))
	maps.DeleteFunc(w.working, func(name string, _ target) bool {
		switch doing[name].State {
		case runtime.ActivityIdle, runtime.ActivityDone, runtime.ActivityBlocked, runtime.ActivityError:
			return true
		}
		return false
	})
}

// stopLevels stops what is left, those that others depend on last. The time to
// the deadline is shared among the levels; when none is left they are killed.
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

// shutdown is the end of the whole city.
type shutdown struct {
	l        *loop
	only     bool // stop what runs, start nothing
	begun    bool
	kill     chan struct{} // closed: stops kill at once
	killOnce sync.Once
	done     bool
	err      error
	result   chan error // receives err
}

// shutdown stops the city within shutdown_timeout.
func (sd *shutdown) begin() { sd.within(sd.l.o.City.Daemon.ShutdownTimeout) }

// shutdownWithin stops the city: no more starts, then everything that runs ends,
// then the loop. limit is for all agents together; with limit ≤ 0 they are
// killed, also when a gentler shutdown is under way. Otherwise it is idempotent.
func (sd *shutdown) within(limit time.Duration) {
	if limit <= 0 {
		sd.killOnce.Do(func() { close(sd.kill) })
	}
	if sd.begun {
		return
	}
	sd.begun = true
	sd.l.logf("stopping the city")
	sd.l.starts.cancel()
	sd.awaitIdle(func() {
		var targets []target
		for _, m := range sd.l.agents.all {
			if !m.foreign && (m.seen.Owned || m.seen.Record.Open || m.seen.Presence == plan.Alive || m.seen.Presence == plan.Zombie) && m.seen.Presence != plan.Gone {
				m.op.name, m.op.intended = opStop, true
				targets = append(targets, sd.l.stops.target(m))
			}
		}
		sd.l.ops.Go(func() {
			err := stopAll(sd.l.ops.ctx, sd.l.p, targets, limit, sd.kill)
			if err == nil {
				sd.teardown()
			}
			sd.l.post(func() { sd.finished(err) })
		})
	})
}

// awaitIdle calls fn on the loop when no operation is in flight.
func (sd *shutdown) awaitIdle(fn func()) {
	idle := func() bool {
		for _, m := range sd.l.agents.all {
			if m.op.name != "" {
				return false
			}
		}
		return !sd.l.observer.inFlight
	}
	a := await{met: idle, done: make(chan struct{})}
	sd.l.awaits = append(sd.l.awaits, a)
	sd.l.ops.Go(func() {
		select {
		case <-a.done:
			sd.l.post(fn)
		case <-sd.l.ops.ctx.Done():
		}
	})
}

// teardown ends a server behind the sessions that has none left, of any city.
func (sd *shutdown) teardown() {
	server, ok := runtime.As[runtime.ServerLifecycleProvider](sd.l.p)
	if !ok {
		return
	}
	_, err := ask(sd.l.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, server.TeardownServer(ctx) })
	if err != nil {
		sd.l.logf("the server of the sessions is left: %v", err)
	}
}

// allStopped ends the run.
func (sd *shutdown) finished(err error) {
	for _, m := range sd.l.agents.all {
		if m.op.name != opStop {
			continue
		}
		m.op.name = ""
		if err == nil {
			m.seen.Presence, m.seen.Record.Open, m.seen.Drain = plan.Gone, false, plan.Drain{}
			sd.l.save(m)
		}
	}
	if err != nil {
		sd.l.logf("the city was not stopped completely: %v", err)
	} else if e := sd.l.book.EndRun(); e != nil {
		sd.l.logf("cannot save the end of the run: %v", e)
	}
	sd.err, sd.done = err, true
	select {
	case sd.result <- err:
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
	lk, err := api.TakeLock(o.City.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lk.Close()) }()
	l, err := newLoop(o, specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.book.Close()) }()
	l.shutdown.only = true
	return l.run(ctx)
}

package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

const (
	queryWorkers = 8  // questions at once
	screenLines  = 40 // of a crash's last screen
)

// observer finds out what runs. It observes the whole city, one observation at a
// time.
type observer struct {
	*core
	l         *loop
	foreign   map[string]bool // running sessions known not to be this city's
	next      time.Time       // the next patrol
	observeAt time.Time       // observe by then; zero: with the patrol
	due       bool            // observe before the next plan
	inFlight  bool
	again     bool   // observe again when the one in flight returns
	inside    bool   // the next observation reads what agents set from inside
	done      bool   // the first observation has returned
	silent    bool   // the backend did not reply to the last one
	unlisted  string // why the last list was incomplete; "" if it was complete
}

// probe is what an observation asks about one session.
type probe struct {
	session string
	version int
	names   []string // ProcessNames
	seen    bool     // one of names was seen
	wasUp   bool     // it may have ended unseen: ask how
	meta    bool     // its owner and the config it was started with
	drain   bool     // did it acknowledge
	attach  bool
	active  bool
	at      time.Time

	startedAt   time.Time // when a start of unknown outcome began; zero if none
	ownProvider bool      // it has its own session provider
	boot        string    // of its machine at its start; "" if unknown
}

// probeResult is what a probe positively learned; with err it learned nothing.
type probeResult struct {
	probe
	err      error
	presence plan.Presence
	exit     *runtime.Exit
	screen   string
	neverRan bool                 // the start was cut short before it made a session
	live     *runtime.LiveRuntime // its processes by their environment; nil: not asked, or none

	meta     map[string]string // nil: not asked
	moved    bool              // it bears the mark of the city's old folder
	attached bool
	activity time.Time
	working  bool // it reports that it is working or waiting for an answer
}

// identityKeys are the metadata that the first probe of a session reads.
var identityKeys = [...]string{
	agent.MetaCityPath, agent.MetaAgent, agent.MetaSessionID, agent.MetaEpoch, agent.MetaToken,
	agent.MetaConfigHash, agent.MetaLaunchHash, agent.MetaProvisionHash, agent.MetaLiveHash,
	agent.MetaDrain, agent.MetaDrainAck, agent.MetaRestart,
}

// drainKeys are the metadata that an agent sets from inside.
var drainKeys = [...]string{agent.MetaDrainAck, agent.MetaRestart}

// patrolAll observes the city and runs the pools' checks, in case an event was
// missed.
func (ob *observer) patrolAll() {
	ob.next = time.Now().Add(ob.o.City.Daemon.PatrolInterval)
	if !ob.l.shutdown.only {
		ob.l.pools.check()
	}
	ob.observe()
}

// observe queries the backend about everything, in the background. A request
// during an observation causes another one after it.
func (ob *observer) observe() {
	if ob.inFlight {
		ob.again = true
		return
	}
	ob.inFlight, ob.again = true, false
	var qs []probe
	for _, ag := range ob.l.agents.all {
		if ag.op.name == "" {
			qs = append(qs, ob.probeOf(ag))
		}
	}
	skip := make(map[string]bool, len(ob.foreign)+len(ob.l.agents.all))
	for name := range ob.l.agents.all {
		skip[name] = true
	}
	for name := range ob.foreign {
		skip[name] = true
	}
	ob.inside = false
	city := ob.o.City.Dir
	var incarnations map[string]bool
	if !ob.done {
		incarnations = ob.l.agents.incarnations()
	}
	ob.ops.Go(func() {
		seen := observeAll(ob.ops.ctx, ob.p, city, qs, skip)
		if len(incarnations) > 0 && seen.err == nil && seen.part == nil {
			ob.endStrays(city, incarnations)
		}
		ob.post(func() { ob.apply(seen) })
	})
}

func (ob *observer) probeOf(ag *agentState) probe {
	q := probe{session: ag.seen.Session, version: ag.op.version, at: time.Now()}
	s := &ag.seen
	if ag.spec != nil {
		q.names, q.ownProvider = ag.spec.Config.ProcessNames, ag.spec.Config.Transport != ""
		q.active = ag.spec.Resolved.IdleTimeout > 0
		drift := s.Hashes.Core != "" && !ag.spec.Current(s.Hashes.Core)
		q.attach = q.active || drift
	}
	q.wasUp = s.Presence == plan.Alive || s.Presence == plan.Zombie || s.Presence == plan.Unknown && s.Record.Open
	q.meta = s.Presence != plan.Alive && s.Presence != plan.Zombie || s.Presence == plan.Alive && !s.Owned
	q.drain = !q.meta && (ob.inside || !s.Drain.Since.IsZero())
	if s.Record.Open {
		q.startedAt, q.boot = s.Record.Started, s.Record.Boot
	}
	return q
}

// drainPoll is how often draining agents are observed if no event reports their
// end.
const drainPoll = time.Second

// followDrains schedules the next observation of draining agents.
func (ob *observer) followDrains(now time.Time) {
	for _, ag := range ob.l.agents.all {
		if !ag.start.pushed && ag.op.name == "" && !ag.seen.Drain.Since.IsZero() && ag.seen.Presence != plan.Gone {
			ob.observeBy(now.Add(drainPoll))
			return
		}
	}
}

// observation is the result of one look at the whole city.
type observation struct {
	err     error // the list could not be read: nothing is known
	part    error // the list is incomplete: a backend of a router failed, or the backend cannot list
	answers []probeResult
	orphans []probeResult   // sessions of this city that the roster does not have
	foreign map[string]bool // running sessions that are not this city's
	running map[string]bool
}

func observeAll(ctx context.Context, p runtime.Provider, city string, qs []probe, skip map[string]bool) observation {
	f := observation{running: map[string]bool{}, foreign: map[string]bool{}}
	list, err := query.Ask(ctx, func(ctx context.Context) ([]string, error) { return p.ListRunning(ctx, "") })
	if err != nil {
		if !partial(p, err) {
			f.err = err
			return f
		}
		f.part = err
	}
	var unknown []probe
	for _, name := range list {
		f.running[name] = true
		if !skip[name] {
			unknown = append(unknown, probe{session: name, meta: true})
		}
	}
	all := append(qs, unknown...)
	env := &environment{city: city, was: config.MovedFrom(city)}
	answers := make([]probeResult, len(all))
	alive := seenAlive(ctx, p, all, f.running)
	parallel(len(all), func(i int) {
		running, err := f.running[all[i].session], error(nil)
		if f.part != nil && !running { // the list may lack it
			running, err = query.Ask(ctx, func(ctx context.Context) (bool, error) { return p.IsRunning(ctx, all[i].session) })
		}
		if err != nil {
			answers[i] = probeResult{probe: all[i], err: err}
			return
		}
		all[i].seen = alive[all[i].session]
		answers[i] = inspect(ctx, p, env, all[i], running)
	})
	f.answers = answers[:len(qs)]
	for _, a := range answers[len(qs):] {
		switch {
		case a.err != nil || a.presence == plan.Gone:
		case a.meta[agent.MetaCityPath] == city:
			f.orphans = append(f.orphans, a)
		default:
			f.foreign[a.session] = true
		}
	}
	return f
}

// seenAlive queries the processes of all sessions at once, if the backend can.
// Those that are missing are queried alone.
func seenAlive(ctx context.Context, p runtime.Provider, qs []probe, running map[string]bool) map[string]bool {
	many, ok := runtime.As[runtime.ManyProcesses](p)
	names := map[string][]string{}
	for _, q := range qs {
		if len(q.names) > 0 && running[q.session] {
			names[q.session] = q.names
		}
	}
	if !ok || len(names) == 0 {
		return nil
	}
	list, err := query.Ask(ctx, func(ctx context.Context) ([]string, error) { return many.SeenAlive(ctx, names) })
	if err != nil && len(list) == 0 {
		return nil
	}
	seen := make(map[string]bool, len(list))
	for _, name := range list {
		seen[name] = true
	}
	return seen
}

// partial reports whether the provider's list is good although it came with an error: it
// lacks sessions, such as those of one of several backends.
func partial(p runtime.Provider, err error) bool {
	if errors.Is(err, runtime.ErrUnsupported) || errors.Is(err, runtime.ErrListIncomplete) {
		return true
	}
	r := runtime.RouterOf(p)
	return r != nil && len(r.Behind()) > 1
}

// parallel calls fn for 0…n-1, queryWorkers at a time, and waits for all.
func parallel(n int, fn func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, queryWorkers) {
		wg.Go(func() {
			for i := range next {
				fn(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// apply takes over the result of an observation.
func (ob *observer) apply(f observation) {
	ob.inFlight = false
	ob.notePart(f.part)
	if f.err != nil {
		ob.unreachable(f.err)
	} else {
		if ob.silent {
			ob.logf("the session backend replies again")
		}
		ob.silent = false
		for _, a := range f.answers {
			if ag := ob.l.agents.all[a.session]; ag != nil && ag.op.name == "" && ag.op.version == a.version {
				ob.applyOne(ag, a)
			}
		}
		for _, a := range f.orphans {
			if ob.l.agents.all[a.session] == nil {
				ag := &agentState{shown: shownState{since: time.Now()}, seen: plan.Seen{Session: a.session, Occupant: a.meta[agent.MetaAgent]}}
				ob.l.agents.all[a.session] = ag
				ob.applyOne(ag, a)
				ob.note(api.Event{Kind: api.EventOrphan, Session: a.session, Detail: "of agent " + a.meta[agent.MetaAgent]})
			}
		}
		for name := range ob.foreign {
			if !f.running[name] {
				delete(ob.foreign, name)
			}
		}
		for name := range f.foreign {
			ob.foreign[name] = true
		}
		for name, ag := range ob.l.agents.all {
			if ag.spec == nil && ag.seen.Presence == plan.Gone && ag.op.name == "" {
				delete(ob.l.agents.all, name)
			}
		}
	}
	ob.done = true
	if ob.again {
		ob.observe()
	}
}

// notePart logs once why the list is incomplete.
func (ob *observer) notePart(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != ob.unlisted && text != "" {
		ob.logf("the session list is incomplete, so known sessions are queried one by one: %s", text)
	}
	ob.unlisted = text
}

// unreachable changes nothing: unknown is not dead.
func (ob *observer) unreachable(err error) {
	if !ob.silent {
		ob.logf("the session backend does not reply: %v", err)
	}
	ob.silent = true
	for _, ag := range ob.l.agents.all {
		ag.cannotTell(err)
		if ag.op.name == "" && ag.seen.Record.Unsure {
			ob.l.starts.backendSilent(ag)
		}
	}
}

// poke observes everything now, including what agents set from inside.
func (ob *observer) poke() {
	ob.inside = true
	ob.patrolAll()
}

// watchPrograms has the backend report when the program of an agent ends but its
// session does not. Otherwise the patrol finds out.
func (ob *observer) watchPrograms(now time.Time) {
	for name, ag := range ob.l.agents.all {
		s := &ag.seen
		if ag.watch.program || now.Before(ag.watch.programAt) || ag.op.name != "" || s.Presence != plan.Alive || !s.Owned ||
			ag.spec == nil || len(ag.spec.Config.ProcessNames) == 0 {
			continue
		}
		ag.watch.program = true
		names := ag.spec.Config.ProcessNames
		ob.ops.Go(func() {
			err := ob.awaitProgramGone(name, names)
			ob.post(func() {
				// At most once a patrol, in case the backend's two answers keep
				// differing.
				ag.watch.program, ag.watch.programAt = false, time.Now().Add(ob.o.City.Daemon.PatrolInterval)
				if err == nil && ag.op.name == "" && ag.seen.Presence == plan.Alive {
					ob.observe()
				}
			})
		})
	}
}

func (ob *observer) awaitProgramGone(name string, names []string) error {
	w, ok, err := runtime.AsFor[runtime.ProgramWatcher](ob.ops.ctx, ob.p, name)
	if err != nil {
		return err
	}
	if !ok {
		return runtime.ErrUnsupported
	}
	return w.AwaitProgramGone(ob.ops.ctx, name, names)
}

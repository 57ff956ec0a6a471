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
	"gascity.dev/gc/runtime"
)

const (
	queryTimeout = 10 * time.Second // for one question to a backend
	queryWorkers = 8                // questions at once
	screenLines  = 40               // of a crash's last screen
)

// question is what a look asks about one member.
type question struct {
	session string
	version int
	names   []string // ProcessNames
	seen    bool     // one of them was seen
	wasUp   bool     // it may have died unseen: ask how
	meta    bool     // whose is it, what was it started with
	drain   bool     // did it acknowledge
	attach  bool
	active  bool
	at      time.Time

	begun time.Time // a start, of which it is not known how it went on; else zero
	wish  bool      // it may be hosted by another provider than that of the rest
}

// answer is what was positively learned; err means nothing was.
type answer struct {
	question
	err      error
	presence plan.Presence
	exit     *runtime.Exit
	screen   string
	neverRan bool                 // the start was cut short before there was a session
	found    *runtime.LiveRuntime // whose it is by its environment; nil: not asked, or not seen

	meta     map[string]string // nil: not asked
	moved    bool              // with the city's folder: the session has the old one's mark
	attached bool
	activity time.Time
	working  bool // it says that it works, or waits for an answer
}

// identityKeys are the metadata that a first look reads.
var identityKeys = [...]string{
	agent.MetaCityPath, agent.MetaAgent, agent.MetaSessionID, agent.MetaEpoch, agent.MetaToken,
	agent.MetaConfigHash, agent.MetaLaunchHash, agent.MetaProvisionHash, agent.MetaLiveHash,
	agent.MetaDrain, agent.MetaDrainAck, agent.MetaRestart,
}

// drainKeys are those that an agent changes from inside.
var drainKeys = [...]string{agent.MetaDrainAck, agent.MetaRestart}

// patrolNow looks at everything that does not tell by itself: the backend and
// the pools' checks.
func (l *loop) patrolNow() {
	l.patrol = time.Now().Add(l.o.City.Daemon.PatrolInterval)
	if !l.stopOnly {
		l.checkPools()
	}
	l.look()
}

// look asks the backend about everything, in the background. One at a time: a
// wish in between makes it look again.
func (l *loop) look() {
	if l.looking {
		l.again = true
		return
	}
	l.looking, l.again = true, false
	var qs []question
	for _, m := range l.members {
		if m.op == "" {
			qs = append(qs, l.question(m))
		}
	}
	skip := make(map[string]bool, len(l.foreign)+len(l.members))
	for name := range l.members {
		skip[name] = true
	}
	for name := range l.foreign {
		skip[name] = true
	}
	l.poked = false
	city := l.o.City.Dir
	var incarnations map[string]bool
	if !l.looked {
		incarnations = l.incarnations()
	}
	l.work.Go(func() {
		found := lookAt(l.opCtx, l.p, city, qs, skip)
		if len(incarnations) > 0 && found.err == nil && found.part == nil {
			l.endStrays(city, incarnations)
		}
		l.post(func() { l.found(found) })
	})
}

func (l *loop) question(m *member) question {
	q := question{session: m.seen.Session, version: m.version, at: time.Now()}
	s := &m.seen
	if m.spec != nil {
		q.names, q.wish = m.spec.Config.ProcessNames, m.spec.Config.Transport != ""
		q.active = m.spec.Resolved.IdleTimeout > 0
		drift := s.Hashes.Core != "" && !m.spec.Current(s.Hashes.Core)
		q.attach = q.active || drift
	}
	q.wasUp = s.Presence == plan.Alive || s.Presence == plan.Zombie || s.Presence == plan.Unknown && s.Record.Open
	q.meta = s.Presence != plan.Alive && s.Presence != plan.Zombie || s.Presence == plan.Alive && !s.Owned
	q.drain = !q.meta && (l.poked || !s.Drain.Since.IsZero())
	if s.Record.Open {
		q.begun = s.Record.Started
	}
	return q
}

// drainLook is how often agents that were asked to end are looked at, where no
// event tells of their end.
const drainLook = time.Second

// lookAtDrains sets the next look at such agents.
func (l *loop) lookAtDrains(now time.Time) {
	for _, m := range l.members {
		if !m.pushed && m.op == "" && !m.seen.Drain.Since.IsZero() && m.seen.Presence != plan.Gone {
			l.lookBy(now.Add(drainLook))
			return
		}
	}
}

// findings is the result of one look.
type findings struct {
	err     error // the list could not be had: nothing is known
	part    error // the list lacks sessions: of a router's side, or of a backend that cannot list
	answers []answer
	orphans []answer        // sessions of this city that no member has
	foreign map[string]bool // sessions that are not
	running map[string]bool
}

func lookAt(ctx context.Context, p runtime.Provider, city string, qs []question, skip map[string]bool) findings {
	f := findings{running: map[string]bool{}, foreign: map[string]bool{}}
	list, err := ask(ctx, func(ctx context.Context) ([]string, error) { return p.ListRunning(ctx, "") })
	if err != nil {
		if !routes(p) && !errors.Is(err, runtime.ErrUnsupported) {
			f.err = err
			return f
		}
		f.part = err
	}
	var unknown []question
	for _, name := range list {
		f.running[name] = true
		if !skip[name] {
			unknown = append(unknown, question{session: name, meta: true})
		}
	}
	all := append(qs, unknown...)
	env := &environment{city: city, was: config.MovedFrom(city)}
	answers := make([]answer, len(all))
	alive := seenAlive(ctx, p, all, f.running)
	parallel(len(all), func(i int) {
		running, err := f.running[all[i].session], error(nil)
		if f.part != nil && !running { // the list may lack it
			running, err = ask(ctx, func(ctx context.Context) (bool, error) { return p.IsRunning(ctx, all[i].session) })
		}
		if err != nil {
			answers[i] = answer{question: all[i], err: err}
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

// seenAlive asks for the processes of all sessions at once, where the backend
// can. What is missing is asked for alone.
func seenAlive(ctx context.Context, p runtime.Provider, qs []question, running map[string]bool) map[string]bool {
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
	list, err := ask(ctx, func(ctx context.Context) ([]string, error) { return many.SeenAlive(ctx, names) })
	if err != nil && len(list) == 0 {
		return nil
	}
	seen := make(map[string]bool, len(list))
	for _, name := range list {
		seen[name] = true
	}
	return seen
}

// routes reports a provider whose list may be partial.
func routes(p runtime.Provider) bool { return runtime.RouterOf(p) != nil }

// parallel calls fn for 0…n-1, queryWorkers at a time, and returns after all.
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

func ask[T any](ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return fn(ctx)
}

// found takes in the result of a look.
func (l *loop) found(f findings) {
	l.looking = false
	l.notePart(f.part)
	if f.err != nil {
		l.unreachable(f.err)
	} else {
		if l.silent {
			l.logf("the session backend answers again")
		}
		l.silent = false
		for _, a := range f.answers {
			if m := l.members[a.session]; m != nil && m.op == "" && m.version == a.version {
				l.take(m, a)
			}
		}
		for _, a := range f.orphans {
			if l.members[a.session] == nil {
				m := &member{since: time.Now(), seen: plan.Seen{Session: a.session}, runs: a.meta[agent.MetaAgent]}
				l.members[a.session] = m
				l.take(m, a)
				l.note(api.Event{Kind: api.EventOrphan, Session: a.session, Detail: "of agent " + a.meta[agent.MetaAgent]})
			}
		}
		for name := range l.foreign {
			if !f.running[name] {
				delete(l.foreign, name)
			}
		}
		for name := range f.foreign {
			l.foreign[name] = true
		}
		for name, m := range l.members {
			if m.spec == nil && m.seen.Presence == plan.Gone && m.op == "" {
				delete(l.members, name)
			}
		}
	}
	l.looked = true
	if l.again {
		l.look()
	}
}

// notePart logs once why the list lacks sessions.
func (l *loop) notePart(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != l.unlisted && text != "" {
		l.logf("not all sessions can be listed, so each known one is asked: %s", text)
	}
	l.unlisted = text
}

// unreachable keeps what was known: unknown is not dead.
func (l *loop) unreachable(err error) {
	if !l.silent {
		l.logf("the session backend does not answer: %v", err)
	}
	l.silent = true
	for _, m := range l.members {
		m.queryErr = err.Error()
		if m.op == "" && m.seen.Record.Unsure {
			l.backendFailed(m)
		}
	}
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity.dev/gc/internal/agent"
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
	wasUp   bool     // it may have died unseen: ask how
	meta    bool     // whose is it, what was it started with
	drain   bool     // did it acknowledge
	attach  bool
	active  bool
	at      time.Time

	begun time.Time // a start, of which it is not known how it went on; else zero
}

// answer is what was positively learned; err means nothing was.
type answer struct {
	question
	err      error
	presence Presence
	exit     *runtime.Exit
	screen   string
	neverRan bool                 // the start was cut short before there was a session
	found    *runtime.LiveRuntime // whose it is by its environment; nil: not asked, or not seen

	meta     map[string]string // nil: not asked
	attached bool
	activity time.Time
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
	l.checkPools()
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
	city, first := l.o.City.Dir, !l.looked
	l.work.Go(func() {
		found := lookAt(l.opCtx, l.p, city, qs, skip)
		if first && found.err == nil {
			l.endStrays(city)
		}
		l.post(func() { l.found(found) })
	})
}

func (l *loop) question(m *member) question {
	q := question{session: m.seen.Session, version: m.version, at: time.Now()}
	s := &m.seen
	if m.spec != nil {
		q.names = m.spec.Config.ProcessNames
		q.active = m.spec.Resolved.IdleTimeout > 0
		drift := s.Hashes.Core != "" && s.Hashes.Core != m.spec.Hashes.Core
		q.attach = q.active || drift
	}
	q.wasUp = s.Presence == Alive || s.Presence == Zombie || s.Presence == Unknown && s.Record.Open
	q.meta = s.Presence != Alive && s.Presence != Zombie || s.Presence == Alive && !s.Owned
	q.drain = !q.meta && (l.poked || !s.Drain.Since.IsZero())
	if s.Record.Open {
		q.begun = s.Record.Started
	}
	return q
}

// findings is the result of one look.
type findings struct {
	err     error // the list could not be had: nothing is known
	answers []answer
	orphans []answer        // sessions of this city that no member has
	foreign map[string]bool // sessions that are not
	running map[string]bool
}

func lookAt(ctx context.Context, p runtime.Provider, city string, qs []question, skip map[string]bool) findings {
	f := findings{running: map[string]bool{}, foreign: map[string]bool{}}
	list, err := ask(ctx, func(ctx context.Context) ([]string, error) { return p.ListRunning(ctx, "") })
	if err != nil {
		f.err = err
		return f
	}
	var unknown []question
	for _, name := range list {
		f.running[name] = true
		if !skip[name] {
			unknown = append(unknown, question{session: name, meta: true})
		}
	}
	all := append(qs, unknown...)
	env := &environment{city: city}
	answers := make([]answer, len(all))
	parallel(len(all), func(i int) { answers[i] = inspect(ctx, p, env, all[i], f.running[all[i].session]) })
	f.answers = answers[:len(qs)]
	for _, a := range answers[len(qs):] {
		switch {
		case a.err != nil || a.presence == Gone:
		case a.meta[agent.MetaCityPath] == city:
			f.orphans = append(f.orphans, a)
		default:
			f.foreign[a.session] = true
		}
	}
	return f
}

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

// inspect learns about one session whose existence is known.
func inspect(ctx context.Context, p runtime.Provider, env *environment, q question, running bool) answer {
	a := answer{question: q, presence: Gone}
	if !running {
		if q.wasUp {
			a.exit, a.screen = lastWords(ctx, p, q.session)
			a.neverRan = neverRan(ctx, p, q, a.exit)
		}
		return a
	}
	a.presence = Alive
	if len(q.names) > 0 {
		live, err := liveness(ctx, p, q)
		if err != nil {
			a.err = err
			return a
		}
		switch live {
		case runtime.Gone:
			return inspect(ctx, p, env, q, false)
		case runtime.Zombie:
			a.presence = Zombie
		}
	}
	if a.err = a.details(ctx, p); a.err == nil && q.meta && a.meta[agent.MetaCityPath] == "" {
		a.err = a.byEnvironment(ctx, p, env)
	}
	return a
}

// liveness asks about the process of a session that was listed; only when it
// is gone is the session asked for once more.
func liveness(ctx context.Context, p runtime.Provider, q question) (runtime.Liveness, error) {
	return ask(ctx, func(ctx context.Context) (runtime.Liveness, error) {
		if alive, err := p.ProcessAlive(ctx, q.session, q.names); err == nil && alive {
			return runtime.Alive, nil
		}
		return runtime.ObserveLiveness(ctx, p, q.session, q.names)
	})
}

// details asks the optional questions.
func (a *answer) details(ctx context.Context, p runtime.Provider) error {
	keys := identityKeys[:0:0]
	if a.question.meta {
		keys = identityKeys[:]
	} else if a.drain {
		keys = drainKeys[:]
	}
	if len(keys) > 0 {
		a.meta = make(map[string]string, len(keys))
	}
	for _, k := range keys {
		v, err := ask(ctx, func(ctx context.Context) (string, error) { return p.GetMeta(ctx, a.session, k) })
		if err != nil {
			return err
		}
		a.meta[k] = v
	}
	var err error
	if a.attach {
		if a.attached, err = ask(ctx, func(ctx context.Context) (bool, error) { return p.IsAttached(ctx, a.session) }); err != nil {
			return err
		}
	}
	if a.active {
		a.activity, err = ask(ctx, func(ctx context.Context) (time.Time, error) { return p.GetLastActivity(ctx, a.session) })
	}
	return err
}

// lastWords finds out how a session ended and what its screen showed, as far
// as the backend keeps it.
func lastWords(ctx context.Context, p runtime.Provider, name string) (*runtime.Exit, string) {
	var exit *runtime.Exit
	if r, ok := runtime.As[runtime.ExitReporter](p); ok {
		if e, err := ask(ctx, func(ctx context.Context) (*runtime.Exit, error) { return r.LastExit(ctx, name) }); err == nil {
			exit = e
		}
	}
	screen, err := ask(ctx, func(ctx context.Context) (string, error) { return p.Peek(ctx, name, screenLines) })
	if err != nil {
		screen = ""
	}
	return exit, screen
}

// keptExits is how long every backend that tells exits surely keeps them.
const keptExits = 30 * time.Minute

// neverRan reports whether a start on record certainly made no session: the
// backend keeps exits, and has none that is later.
func neverRan(ctx context.Context, p runtime.Provider, q question, exit *runtime.Exit) bool {
	r, ok := runtime.As[runtime.ExitReporter](p)
	if !ok || q.begun.IsZero() || q.at.Sub(q.begun) > keptExits || q.begun.After(q.at) {
		return false
	}
	if exit != nil {
		return exit.Time.Before(q.begun)
	}
	_, err := ask(ctx, func(ctx context.Context) (*runtime.Exit, error) { return r.LastExit(ctx, q.session) })
	return errors.Is(err, runtime.ErrSessionNotFound)
}

// found takes in the result of a look.
func (l *loop) found(f findings) {
	l.looking = false
	if f.err != nil {
		l.unreachable(f.err)
	} else {
		for _, a := range f.answers {
			if m := l.members[a.session]; m != nil && m.op == "" && m.version == a.version {
				l.take(m, a)
			}
		}
		for _, a := range f.orphans {
			if l.members[a.session] == nil {
				m := &member{since: time.Now(), seen: Seen{Session: a.session}}
				l.members[a.session] = m
				l.take(m, a)
				l.note(Event{Kind: EventOrphan, Session: a.session, Detail: "of agent " + a.meta[agent.MetaAgent]})
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
			if m.spec == nil && m.seen.Presence == Gone && m.op == "" {
				delete(l.members, name)
			}
		}
	}
	l.looked = true
	if l.again {
		l.look()
	}
}

// unreachable keeps what was known: unknown is not dead.
func (l *loop) unreachable(err error) {
	l.logf("the session backend does not answer: %v", err)
	for _, m := range l.members {
		m.queryErr = err.Error()
	}
}

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
		if l.opCtx.Err() == nil && !l.ended {
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
	case m.foreign || m.seen.Presence == Unknown:
		l.look()
	case m.seen.Presence != Gone:
		l.probe(m, ev.Exit)
	}
}

// probe makes sure of an exit (a late event may be about an older incarnation)
// and reads the last screen before a start replaces it.
func (l *loop) probe(m *member, exit *runtime.Exit) {
	l.begin(m, opProbe)
	name := m.seen.Session
	l.work.Go(func() {
		running, err := ask(l.opCtx, func(ctx context.Context) (bool, error) { return l.p.IsRunning(ctx, name) })
		var screen string
		if err == nil && !running {
			var e *runtime.Exit
			if e, screen = lastWords(l.opCtx, l.p, name); e != nil {
				exit = e
			}
		}
		l.post(func() {
			l.endOp(m)
			switch {
			case err != nil:
				m.queryErr = err.Error()
				l.look()
			case !running:
				l.died(m, exit, screen)
				m.seen.Presence, m.queryErr = Gone, ""
			}
		})
	})
}

// died accounts for the end of a member's session.
func (l *loop) died(m *member, exit *runtime.Exit, screen string) {
	r, now := &m.seen.Record, time.Now()
	if exit == nil {
		exit = &runtime.Exit{Code: -1, Reason: "unknown", Time: now}
	}
	asked := m.intended || !m.seen.Drain.Since.IsZero() || r.Stopped || r.Suspended || m.spec == nil
	r.LastExit, r.Open = exit, false
	m.seen.Drain, m.seen.RestartAsked, m.seen.Attached, m.seen.Hashes = Drain{}, false, false, agent.Hashes{}
	m.intended = false
	switch {
	case m.oneShot() && !asked:
		r.Job.Done, r.Job.Code = true, exit.Code
		if exit.Code != 0 {
			r.LastScreen = screen
		}
		kind := EventExited
		if exit.Code != 0 {
			kind = EventCrashed
		}
		l.noteEnd(m, kind, exit, r.LastScreen, "one_shot")
	case asked:
		l.noteEnd(m, EventExited, exit, "", "")
	default:
		r.LastScreen = screen
		r.Died(now, l.budget())
		l.noteEnd(m, EventCrashed, exit, screen, "")
		l.quarantined(m)
	}
	l.save(m)
	l.hook(m, "on_death", onDeath)
	l.exitWaits(m)
}

// quarantined says when the restart of a member is put off.
func (l *loop) quarantined(m *member) {
	if r := &m.seen.Record; r.Quarantined() {
		l.noteAgent(m, EventQuarantined, "", fmt.Sprintf("try %d at %s", r.Tries, r.RetryAt.UTC().Format("15:04:05.000Z")))
	}
}

func exitText(e *runtime.Exit) string {
	text := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		text = e.Signal
	}
	if e.Reason != "" && e.Reason != "exited" {
		text += " (" + e.Reason + ")"
	}
	return text
}

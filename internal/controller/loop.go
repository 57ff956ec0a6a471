package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// loop owns the state of one city. Everything but the inbox belongs to the
// goroutine that is in run; workers and the server send it functions.
type loop struct {
	o     Options
	p     runtime.Provider
	book  *session.Book
	began time.Time
	runID string // this gc start

	records map[string]session.Record // by agent, also of those that are not wanted now
	pauses  map[string]session.Pause  // what is suspended beside single agents

	templates []*agent.Spec    // of the config: agents and pools
	pools     map[string]*pool // by name
	feed      api.Feed
	nudges    []*session.Nudge // in the order they came
	waits     []*waiting
	ends      ends               // of background commands
	members   map[string]*member // by session name
	order     []string           // wanted sessions in the order of the file
	foreign   map[string]bool    // running sessions known not to be this city's
	moved     map[string]string  // by agent: the session that may still run it; while specs are taken over

	inbox    chan func()
	done     chan struct{} // closed when nobody reads the inbox any more
	work     sync.WaitGroup
	cancel   context.CancelFunc // ends every operation
	opCtx    context.Context
	starts   context.Context // ends every start
	noMore   context.CancelFunc
	awaits   []await
	timer    *time.Timer
	patrol   time.Time // the next one
	looking  bool      // an observation is in flight
	silent   bool      // the last observation got no answer
	unlisted string    // why the last list was not complete; "": it was
	looked   bool      // the first one is done
	again    bool      // look once more when it returns

	poked    bool      // the next look reads what agents set from inside
	wantLook bool      // look before the next plan
	lookAt   time.Time // look at this time at the latest; zero: with the patrol

	events        <-chan runtime.Event
	subscribing   bool
	subscribeAt   time.Time // try again then; zero: no need
	subscribeWait time.Duration
	stopOnly      bool // stop what runs, start nothing
	stopping      bool
	kill          chan struct{} // closed: stops kill at once
	killOnce      sync.Once
	stopDone      bool
	stopErr       error
	stopped       chan error // gets the result of the shutdown
	reconciled    bool
	goal          bool // Until is reached
	ended         bool // run shall return
	result        error
	configErr     string // why the newest city.toml is not in use
	configHint    string
	reading       bool // city.toml is being read
	readAgain     bool // and has changed meanwhile
	reads         int  // how often it was read
}

// member is one session the controller deals with.
type member struct {
	spec        *agent.Spec // nil: not in config
	left        *agent.Spec // what spec was before
	seen        plan.Seen
	version     int    // changes when an operation begins or ends
	op          string // the operation in flight, for status
	since       time.Time
	state       api.State          // as last shown, to know since when
	attempts    int                // starts tried
	intended    bool               // the end that comes was asked for
	exitSeen    bool               // an exit event came during an operation
	exit        *runtime.Exit      // what it said of the incarnation on record
	over        chan struct{}      // opSettle, opStop: closed when the session has ended
	foreign     bool               // somebody else's session has the name
	noWarm      bool               // Relaunch is unsupported for it
	idle        bool               // it was seen idle
	waitsWith   string             // the nudge that waits for it to be idle
	stopWaiting context.CancelFunc // ends that wait
	delivering  bool               // a nudge waits for it to be idle, or is typed
	tellAt      time.Time          // ends of background commands wait until then
	idleOf      string             // by its session id: who is waited for, or was seen idle

	doing      runtime.SessionActivity // while a status is made
	lastSeen   time.Time               // LastActivity as the backend said it
	pushed     bool                    // its end is told by an event
	watching   bool                    // the backend tells when its program is gone, see watchPrograms
	watchAt    time.Time               // not before this
	notStarted string                  // why a start was put off
	attended   string                  // the session id whose first idle is waited for
	watched    string                  // the session id that is watched for a question nobody answers
	warning    string                  // of the newest start: what went wrong in a step, and did not end it
	runs       string                  // the agent that runs in it, when that is another than seen.Agent
	spared     time.Time               // when its last drain was taken back
	drainLimit time.Duration           // once it is no longer wanted; 0 = the city's
	queryErr   string
}

// await is somebody waiting for a condition on the state.
type await struct {
	met  func() bool
	done chan struct{}
}

// inboxSize lets workers hand in results without waiting for each other.
const inboxSize = 256

func newLoop(o Options, specs []*agent.Spec) (*loop, error) {
	l := &loop{
		o: o, p: o.Provider, began: time.Now(),
		members: map[string]*member{}, foreign: map[string]bool{}, moved: map[string]string{},
		inbox: make(chan func(), inboxSize), done: make(chan struct{}), stopped: make(chan error, 1), kill: make(chan struct{}),
	}
	var err error
	if l.book, err = openBook(o.City.Dir); err != nil {
		return nil, err
	}
	if err := l.readBook(); err != nil {
		return nil, errors.Join(err, l.book.Close())
	}
	l.setTemplates(specs)
	return l, nil
}

// setSpecs makes the wanted set. Members that are no longer in it lose their
// spec and keep their session until it is gone.
func (l *loop) setSpecs(specs []*agent.Spec) {
	l.order = l.order[:0]
	wanted := map[string]bool{}
	for _, s := range specs {
		wanted[s.Session] = true
		l.order = append(l.order, s.Session)
		m := l.members[s.Session]
		if m == nil {
			m = &member{since: l.began, seen: plan.Seen{Session: s.Session}}
			l.members[s.Session] = m
		}
		l.setSpec(m, s)
	}
	for name, m := range l.members {
		if !wanted[name] && m.spec != nil {
			m.drainLimit = l.drainLimit(m)
			m.left, m.spec = m.spec, nil
		}
	}
	l.leaveOldNames(specs)
}

// leaveOldNames gives up the sessions of agents that have another name now.
func (l *loop) leaveOldNames(specs []*agent.Spec) {
	session := make(map[string]string, len(specs))
	for _, s := range specs {
		session[s.Name()] = s.Session
	}
	for name, m := range l.members {
		if now := session[m.seen.Agent]; now != "" && now != name {
			m.runs, m.seen.Agent = m.seen.Agent, ""
		}
	}
	for _, s := range specs {
		r := &l.members[s.Session].seen.Record
		if old := l.moved[s.Name()]; old != "" && l.members[old] == nil { // it may run, and a list may not say so
			l.members[old] = &member{since: time.Now(), seen: plan.Seen{Session: old}, runs: r.Agent}
		}
	}
	clear(l.moved)
}

func (l *loop) setSpec(m *member, s *agent.Spec) {
	r := &m.seen.Record
	if m.seen.Agent != "" && m.seen.Agent != s.Name() { // the name was another agent's
		m.runs, *r = m.seen.Agent, session.Record{}
	}
	if r.Agent == "" { // it was running before it was known to be wanted
		known := l.records[s.Name()]
		if known.Session != "" && known.Session != s.Session {
			l.move(&known, s)
		}
		if r.ID != "" {
			known.ID, known.Token, known.Epoch, known.Open = r.ID, r.Token, max(r.Epoch, known.Epoch), true
		}
		*r = known
	}
	if differ(r.CoreHash, s.Hashes.Core) || differ(r.Digest, s.Digest) { // a new config is a new chance
		job := r.Job
		r.Clear()
		r.Job = job
	}
	r.Agent, r.Session, r.CoreHash, r.Digest = s.Name(), s.Session, s.Hashes.Core, s.Digest
	if m.spec != s {
		m.seen.Asked = time.Time{} // other questions matter now
	}
	m.spec, m.seen.Agent = s, s.Name()
}

// move makes the record of an agent whose session gets another name: nothing has
// been started under that.
func (l *loop) move(r *session.Record, s *agent.Spec) {
	if r.Open {
		l.moved[s.Name()] = r.Session
	}
	r.Session, r.Open = s.Session, false
	if !r.Job.Done {
		r.Job = session.Job{}
	}
}

// differ reports two hashes that are known and not the same.
func differ(was, is string) bool { return was != "" && is != "" && was != is }

// post hands fn to the loop; it is dropped when the loop has ended.
func (l *loop) post(fn func()) {
	select {
	case l.inbox <- fn:
	case <-l.done:
	}
}

// run is the loop. It owns l until it returns, and returns after every worker.
func (l *loop) run(ctx context.Context) error {
	l.opCtx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.starts, l.noMore = context.WithCancel(l.opCtx)
	defer func() {
		l.cancel()
		close(l.done)
		l.feed.Close()
		l.work.Wait()
	}()
	l.timer = time.NewTimer(0)
	defer l.timer.Stop()
	l.note(api.Event{Kind: api.EventController, Why: "starts", Detail: fmt.Sprintf("pid %d, %s", os.Getpid(), counted(len(l.order), "agent"))})
	if l.o.Steps != nil {
		l.o.Steps(l.stepDone)
	}
	l.patrolNow()
	l.subscribe()
	l.followEnds()
	limit, stopLimit := l.limit()
	defer stopLimit()
	ctxDone, kill := ctx.Done(), l.o.Kill
	for !l.ended {
		var happened func()
		select {
		case fn := <-l.inbox:
			happened = func() { fn(); l.drainInbox() }
		case ev, ok := <-l.events:
			happened = func() { l.event(ev, ok) }
		case <-l.timer.C:
		case <-limit:
			limit = nil
			happened = func() { l.settleRun(fmt.Errorf("%w after %v", api.ErrTimeout, l.o.Timeout)) }
		case err := <-l.stopped:
			happened = func() { l.finish(cmp.Or(l.result, err)) }
		case <-ctxDone:
			ctxDone = nil
			happened = l.cancelled
		case <-kill:
			kill = nil
			happened = func() { l.shutdownWithin(0) }
		}
		l.turn(happened)
	}
	l.wake(true)
	l.note(api.Event{Kind: api.EventController, Why: api.WhyEnds})
	return l.result
}

// turn takes in what happened and acts on it. An end and the start that follows
// it are one write.
func (l *loop) turn(happened func()) {
	l.book.Hold()
	defer l.book.Release()
	if happened != nil {
		happened()
	}
	l.step()
}

// cancelled is the end of the context of Run.
func (l *loop) cancelled() {
	if l.o.StopOnCancel {
		l.shutdown()
		return
	}
	l.ended = true
}

// limit is the channel of Options.Timeout.
func (l *loop) limit() (<-chan time.Time, func()) {
	if l.o.Timeout <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(l.o.Timeout)
	return t.C, func() { t.Stop() }
}

// drainInbox takes what is there already, so that one step serves all.
func (l *loop) drainInbox() {
	for range inboxSize {
		select {
		case fn := <-l.inbox:
			fn()
		default:
			return
		}
	}
}

// finish ends the run with a result and leaves the agents as they are.
func (l *loop) finish(err error) {
	if !l.ended {
		l.ended, l.result = true, err
	}
}

// step compares, acts, and sets the clock for what comes by itself.
func (l *loop) step() {
	now := time.Now()
	if !now.Before(l.patrol) {
		l.patrolNow()
	}
	if !l.lookAt.IsZero() && !now.Before(l.lookAt) {
		l.wantLook, l.lookAt = true, time.Time{}
	}
	if l.wantLook {
		l.wantLook = false
		l.look()
	}
	l.lookAtDrains(now)
	next := l.patrol
	if at := l.subscribeAt; !at.IsZero() {
		if !now.Before(at) {
			l.subscribe()
		} else if at.Before(next) {
			next = at
		}
	}
	if !l.lookAt.IsZero() && l.lookAt.Before(next) {
		next = l.lookAt
	}
	if l.stopOnly && l.looked {
		l.shutdown()
	}
	if !l.stopping && !l.ended && l.looked {
		next = l.tellEnds(now, next)
		for _, a := range plan.Make(l.desired(), l.actual(), now) {
			if a.Kind == plan.ActWait {
				if a.At.Before(next) {
					next = a.At
				}
				continue
			}
			l.act(a)
		}
		l.watchPrograms(now)
		next = l.deliver(now, l.watchWaits(now, next))
	}
	l.noteStates(now)
	l.checkReady()
	l.watchBlocked()
	l.checkUntil()
	l.wake(false)
	l.timer.Reset(max(time.Until(next), 0))
}

// lookBy asks for a look at the given time at the latest.
func (l *loop) lookBy(at time.Time) {
	if l.lookAt.IsZero() || at.Before(l.lookAt) {
		l.lookAt = at
	}
}

func (m *member) oneShot() bool {
	return m.spec != nil && m.spec.Resolved.Lifecycle == runtime.OneShot
}

// wake tells those whose condition is met, or all at the end.
func (l *loop) wake(all bool) {
	kept := l.awaits[:0]
	for _, a := range l.awaits {
		if all || a.met() {
			close(a.done)
			continue
		}
		kept = append(kept, a)
	}
	clear(l.awaits[len(kept):])
	l.awaits = kept
}

// checkReady notices the end of the first reconcile: every agent was looked at
// and every start that could be tried was tried once.
func (l *loop) checkReady() {
	if l.reconciled || !l.looked || l.ended {
		return
	}
	for _, p := range l.pools {
		if !p.checked {
			return
		}
	}
	for _, m := range l.members {
		notAsked := m.spec != nil && m.seen.Presence == plan.Unknown && m.queryErr == "" && !m.foreign
		if (m.op == opStart || m.op == opSettle) && m.attempts <= 1 || m.op == "" && notAsked {
			return
		}
	}
	d := l.desired()
	d.MaxStarts = 1 << 30
	for _, a := range plan.Make(d, l.actual(), time.Now()) {
		if a.Kind == plan.ActStart && l.members[a.Session].attempts == 0 {
			return
		}
	}
	l.reconciled = true
	l.logf("first reconcile done")
	if l.o.Ready != nil {
		l.o.Ready(l.status())
	}
	if l.o.Once {
		l.finish(nil)
	}
}

func (l *loop) logf(format string, args ...any) {
	if l.o.Log == nil {
		return
	}
	line := time.Now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + fmt.Sprintf(format, args...)
	fmt.Fprintln(l.o.Log, line)
}

// poke looks at everything now, also at what agents set from inside.
func (l *loop) poke() {
	l.poked = true
	l.patrolNow()
}

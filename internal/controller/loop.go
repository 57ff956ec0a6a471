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

// loop controls one city. It and its parts belong to the goroutine in run; the
// socket's handlers and the workers send it functions through the mailbox.
//
// Each part owns its state: no other part writes it. The state of an agent
// belongs to the roster and is written by those who act on it: the observer
// writes what it saw; the starter, the stops and the shutdown the operation in
// flight; nudges and completions what is being typed. Records reach the disk
// through save alone.
type loop struct {
	*core
	timer *time.Timer

	agents    *roster
	pools     *pools
	suspended *suspensions

	observer *observer
	events   *subscription
	audit    *audit
	starts   *starter
	stops    *stops
	shutdown *shutdown

	messages
	config *configFile
	goal   *goal
	report *reports
	calls  *calls
}

// messages are the messages to agents, and the waits that become some.
type messages struct {
	nudges      *nudgeQueue
	waits       *waitList
	completions *completions
	far         *farInbox
	mail        *mails
}

// core is what all parts of a controller share. A part needs l only to reach
// another part.
type core struct {
	o     Options
	p     runtime.Provider
	store *session.Store
	began time.Time
	runID string // id of this gc start
	mailbox
	journal
	ops operations
}

// operations are the workers of a controller; ctx ends all of them.
type operations struct {
	sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
}

func newLoop(o Options, specs []*agent.Spec) (*loop, error) {
	store, err := api.OpenStore(o.City.Dir)
	if err != nil {
		return nil, err
	}
	l := makeLoop(o, store)
	if err := l.load(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	l.agents.setConfig(specs)
	return l, nil
}

// makeLoop makes a loop without any knowledge. store may be nil if it is never
// run.
func makeLoop(o Options, store *session.Store) *loop {
	c := &core{
		o: o, p: o.Provider, store: store, began: time.Now(),
		mailbox: mailbox{inbox: make(chan func(), inboxSize), done: make(chan struct{})},
		journal: journal{store: store, event: o.Event, place: o.Place, w: o.Log},
	}
	l := &loop{core: c}
	l.agents = &roster{core: c, l: l, all: map[string]*agentState{}, moved: map[string]string{}}
	l.pools, l.suspended = &pools{core: c, l: l}, &suspensions{core: c, l: l}
	l.observer, l.events = &observer{core: c, l: l, foreign: map[string]bool{}}, &subscription{core: c, l: l}
	l.audit = &audit{core: c, l: l, seen: map[string]*audited{}}
	l.starts, l.stops = &starter{core: c, l: l}, &stops{core: c, l: l}
	l.shutdown = &shutdown{core: c, l: l, result: make(chan error, 1), kill: make(chan struct{})}
	l.messages = messages{nudges: &nudgeQueue{core: c, l: l}, waits: &waitList{core: c, l: l}, completions: &completions{core: c, l: l}, far: &farInbox{core: c, l: l}, mail: newMails(c)}
	l.mail.l = l
	l.config, l.goal, l.report, l.calls = &configFile{core: c, l: l}, &goal{core: c, l: l}, &reports{core: c, l: l}, &calls{core: c, l: l}
	return l
}

// run is the loop. It owns l until it returns, and returns after all workers.
func (l *loop) run(ctx context.Context) error {
	l.ops.ctx, l.ops.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.starts.ctx, l.starts.cancel = context.WithCancel(l.ops.ctx)
	defer func() {
		l.ops.cancel()
		close(l.done)
		l.feed.Close()
		l.ops.Wait()
	}()
	l.timer = time.NewTimer(0)
	defer l.timer.Stop()
	l.note(api.Event{Kind: api.EventController, Why: "starts", Detail: fmt.Sprintf("pid %d, %s", os.Getpid(), api.CountAgents(len(l.agents.order)))})
	if l.o.Steps != nil {
		l.o.Steps(l.starts.stepDone)
	}
	l.observer.patrolAll()
	l.events.subscribe()
	l.completions.follow()
	l.far.follow()
	l.notify()
	l.keep()
	limit, stopLimit := l.limit()
	defer stopLimit()
	ctxDone, kill := ctx.Done(), l.o.Kill
	for !l.goal.ended {
		var happened func()
		select {
		case fn := <-l.inbox:
			happened = func() { fn(); l.drainInbox() }
		case ev, ok := <-l.events.ch:
			happened = func() { l.events.take(ev, ok) }
		case <-l.timer.C:
		case <-limit:
			limit = nil
			happened = func() { l.goal.conclude(fmt.Errorf("%w after %v", api.ErrTimeout, l.o.Timeout)) }
		case err := <-l.shutdown.result:
			happened = func() { l.goal.finish(cmp.Or(l.goal.result, err)) }
		case <-ctxDone:
			ctxDone = nil
			happened = l.cancelled
		case <-kill:
			kill = nil
			happened = func() { l.shutdown.within(0) }
		}
		l.turn(happened)
	}
	l.wake(true)
	l.note(api.Event{Kind: api.EventController, Why: api.WhyEnds})
	return l.goal.result
}

// turn handles what happened and acts on it. Everything it saves is one write,
// such as an exit and the start that follows.
func (l *loop) turn(happened func()) {
	l.store.Hold()
	defer l.store.Release()
	if happened != nil {
		happened()
	}
	l.step()
}

// cancelled handles the end of Run's context.
func (l *loop) cancelled() {
	if l.o.StopOnCancel {
		l.shutdown.begin()
		return
	}
	l.goal.ended = true
}

// limit returns the channel of Options.Timeout.
func (l *loop) limit() (<-chan time.Time, func()) {
	if l.o.Timeout <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(l.o.Timeout)
	return t.C, func() { t.Stop() }
}

// finish ends the run with a result and leaves the agents as they are.
func (g *goal) finish(err error) {
	if !g.ended {
		g.ended, g.result = true, err
	}
}

// step plans, acts, and sets the timer for the next step.
func (l *loop) step() {
	now := time.Now()
	if !now.Before(l.observer.next) {
		l.observer.patrolAll()
	}
	if !l.observer.observeAt.IsZero() && !now.Before(l.observer.observeAt) {
		l.observer.due, l.observer.observeAt = true, time.Time{}
	}
	if l.observer.due {
		l.observer.due = false
		l.observer.observe()
	}
	l.observer.followDrains(now)
	next := l.observer.next
	if at := l.events.retryAt; !at.IsZero() {
		if !now.Before(at) {
			l.events.subscribe()
		} else if at.Before(next) {
			next = at
		}
	}
	if !l.observer.observeAt.IsZero() && l.observer.observeAt.Before(next) {
		next = l.observer.observeAt
	}
	if l.shutdown.only && l.observer.done {
		l.shutdown.begin()
	}
	if !l.shutdown.begun && !l.goal.ended && l.observer.done {
		next = l.completions.deliver(now, next)
		for _, a := range plan.Make(l.agents.desired(), l.agents.actual(), now) {
			if a.Kind == plan.ActWait {
				if a.At.Before(next) {
					next = a.At
				}
				continue
			}
			l.act(a)
		}
		l.observer.watchPrograms(now)
		l.audit.watch()
		next = l.mail.deliver(now, next)
		next = l.nudges.deliver(now, l.waits.watch(now, next))
	}
	l.report.note(now)
	l.goal.checkReady()
	l.goal.watchBlocked()
	l.goal.checkUntil()
	l.wake(false)
	l.timer.Reset(max(time.Until(next), 0))
}

// observeBy schedules an observation at the given time at the latest.
func (ob *observer) observeBy(at time.Time) {
	if ob.observeAt.IsZero() || at.Before(ob.observeAt) {
		ob.observeAt = at
	}
}

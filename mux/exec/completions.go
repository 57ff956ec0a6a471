package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/store"
)

// Times and bounds of the delivery of ends.
const (
	deliverWorkers = 8                     // messages typed at once
	deliverTick    = time.Minute           // how often open deliveries are checked without an event
	deliverGather  = 10 * time.Millisecond // many commands end at once
)

// completions delivers the ends of commands to their owners' sessions. The
// deliveries and their states are in the database ([delivery.Progress]); the
// fields are only what is under way.
type completions struct {
	c    *Commands
	kick chan struct{}

	mu   sync.Mutex
	open map[string]bool // events whose delivery is not final
	busy map[string]bool // owners to which a message is being delivered
}

func newCompletions(c *Commands) *completions {
	return &completions{c: c, kick: make(chan struct{}, 1), open: make(map[string]bool), busy: make(map[string]bool)}
}

// load reads the open deliveries of an earlier server.
func (co *completions) load() error {
	open, err := co.list()
	var leased []string
	for _, d := range open {
		co.open[d.Event] = true
		if d.State == process.Leased {
			leased = append(leased, d.Event)
		}
	}
	if len(leased) > 0 { // a full disk leaves them leased for a while
		now := co.c.Now()
		co.step(leased, func(d *process.Delivery) error { d.Recover(now); return nil })
	}
	return err
}

func (co *completions) add(event string) {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.open[event] = true
}

func (co *completions) forget(event string) {
	co.mu.Lock()
	defer co.mu.Unlock()
	delete(co.open, event)
}

func (co *completions) isOpen(event string) bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.open[event]
}

// events returns the events whose delivery is open.
func (co *completions) events() map[string]bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return maps.Clone(co.open)
}

// none reports whether no delivery is open.
func (co *completions) none() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return len(co.open) == 0
}

// wake makes run check the deliveries, unless there are none.
func (co *completions) wake() {
	if co.none() {
		return
	}
	select {
	case co.kick <- struct{}{}:
	default:
	}
}

// run delivers until the server ends.
func (co *completions) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	co.c.Go(func() {
		<-co.c.Done
		cancel()
	})
	limit := make(chan struct{}, deliverWorkers)
	for {
		t := time.NewTimer(co.pass(ctx, limit))
		select {
		case <-co.kick:
			select {
			case <-time.After(deliverGather):
			case <-ctx.Done():
			}
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// pass starts to deliver to every owner with a session, and returns when to
// check again.
func (co *completions) pass(ctx context.Context, limit chan struct{}) time.Duration {
	if co.none() {
		return 24 * time.Hour
	}
	open, err := co.list()
	if err != nil {
		slog.Warn("cannot read deliveries", "error", err)
		return saveRetryMax
	}
	now, next := co.c.Now(), deliverTick
	owners := make(map[string]bool)
	for _, d := range open {
		if d.Expired(now) {
			co.expire(d, now)
			continue
		}
		if d.State == process.Injecting && d.By == "" || d.Due(now) {
			owners[d.Owner] = true
		} else if wait := d.Next.Sub(now); wait > 0 {
			next = min(next, wait)
		}
	}
	for owner := range owners {
		co.deliverTo(ctx, owner, limit)
	}
	return next
}

// expire gives up a delivery that waited too long.
func (co *completions) expire(d process.Delivery, now time.Time) {
	why := "its owner was not there for 24 h"
	if d.State == process.Injecting {
		why = "its outcome was not reported within 24 h by " + d.By
	}
	co.step([]string{d.Event}, func(d *process.Delivery) error { return d.GiveUp(now, why) })
}

// deliverTo starts to deliver to one owner in the background, if its session runs.
// Otherwise the start of its session wakes the loop.
func (co *completions) deliverTo(ctx context.Context, owner string, limit chan struct{}) {
	o, ok := co.c.Host.Owner(owner)
	if !ok || !co.reserve(owner) {
		return
	}
	co.c.Go(func() {
		if more := co.deliverOnce(ctx, o, owner, limit); more {
			defer co.wake()
		}
		co.release(owner)
	})
}

// reserve makes the caller the only one that delivers to an owner; false if another
// one does.
func (co *completions) reserve(owner string) bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.busy[owner] {
		return false
	}
	co.busy[owner] = true
	return true
}

func (co *completions) release(owner string) {
	co.mu.Lock()
	defer co.mu.Unlock()
	delete(co.busy, owner)
}

// deliverOnce resolves the messages of an earlier server, or else types what is
// due to the owner as one message. more is false if nothing is left to do now.
func (co *completions) deliverOnce(ctx context.Context, o Owner, owner string, limit chan struct{}) (more bool) {
	if some, err := co.resume(ctx, owner); some || err != nil {
		return err == nil
	}
	if err := o.AwaitIdle(ctx); err != nil {
		return errors.Is(err, delivery.ErrGone)
	}
	select {
	case limit <- struct{}{}:
		defer func() { <-limit }()
	case <-ctx.Done():
		return false
	}
	batch, events, text := co.take(o.ID(), owner, "")
	if len(events) == 0 {
		return false
	}
	a := delivery.Attempt{Agent: recipient{Owner: o, batch: batch}, Tags: tags(events)}
	state, detail, err := a.Type(ctx, text)
	co.c.Fault("typed")
	if err == nil {
		co.settle(events, state, detail)
	}
	co.c.Fault("delivered")
	return err == nil
}

// take leases what is due to an owner, oldest first, and makes the message that
// by ("": this server) types into the session with the id.
func (co *completions) take(session, owner, by string) (batch string, events []string, text string) {
	open, err := co.list()
	if err != nil {
		slog.Warn("cannot read deliveries", "error", err)
		return "", nil, ""
	}
	now := co.c.Now()
	var ids []string
	for _, d := range open {
		if d.Owner == owner && d.Due(now) && len(ids) < process.MaxBatch && !co.c.watched(d.Session) {
			ids = append(ids, d.Event)
		}
	}
	if len(ids) == 0 {
		return "", nil, ""
	}
	leased := co.step(ids, func(d *process.Delivery) error { return d.Acquire(now) })
	co.c.Fault("leased")
	if len(leased) == 0 {
		return "", nil, ""
	}
	batch = fmt.Sprintf("%s %s %d", session, leased[0].Event, leased[0].Tries)
	injected := co.step(eventsOf(leased), func(d *process.Delivery) error { return d.Inject(batch, by, co.c.Now()) })
	events, text = co.message(injected)
	co.c.Fault("injecting")
	return batch, events, text
}

// message makes one message of several ends.
func (co *completions) message(list []process.Delivery) (events []string, text string) {
	var ends []process.Event
	err := co.c.Host.View(func(tx *store.Tx) error {
		for _, d := range list {
			e, ok, err := co.c.store.Event(tx, d.Event)
			if err != nil {
				return err
			}
			if ok {
				events, ends = append(events, d.Event), append(ends, e)
			}
		}
		return nil
	})
	if err != nil {
		slog.Warn("cannot read the events of deliveries", "error", err)
	}
	return events, process.Message(ends)
}

// watched reports whether a caller is waiting for the command's end and is
// about to learn of it.
func (c *Commands) watched(id string) bool {
	cmd, err := c.Find(id)
	return err == nil && cmd.watched()
}

// resume resolves the messages for an owner that an earlier server was typing. some is
// false if there are none.
func (co *completions) resume(ctx context.Context, owner string) (some bool, err error) {
	open, err := co.list()
	if err != nil {
		return false, err
	}
	batches := make(map[string][]string)
	for _, d := range open {
		if d.Owner == owner && d.State == process.Injecting && d.By == "" {
			batches[d.Batch] = append(batches[d.Batch], d.Event)
		}
	}
	for batch, events := range batches {
		if err := co.resolve(ctx, batch, events); err != nil {
			return true, err
		}
	}
	return len(batches) > 0, nil
}

// resolve finds out what became of a message. After an error the outcome is
// unknown, and the message stays as it is.
func (co *completions) resolve(ctx context.Context, batch string, events []string) error {
	id, _, _ := strings.Cut(batch, " ")
	o, ok := co.c.Host.OwnerByID(id)
	if !ok {
		co.settle(events, process.Pending, "the session it was typed into is gone")
		return nil
	}
	a := delivery.Attempt{Agent: recipient{Owner: o, batch: batch, resumed: true}, Tags: tags(events)}
	state, detail, err := a.Type(ctx, "")
	if err == nil {
		co.settle(events, state, detail)
	}
	return err
}

// recipient is an owner as a [delivery.Attempt] sees it.
type recipient struct {
	Owner
	batch   string // the message's id
	resumed bool   // an earlier server typed it, or was about to
}

var _ delivery.Agent = recipient{}

// Type implements [delivery.Agent].
func (r recipient) Type(ctx context.Context, text string) (delivery.Outcome, error) {
	if !r.resumed {
		return r.Owner.Type(ctx, r.batch, text)
	}
	o, known, err := r.Owner.Outcome(ctx, r.batch)
	if err == nil && !known {
		o = delivery.Outcome{Result: delivery.NotSubmitted, Detail: "the server was restarted before it was typed"}
	}
	return o, err
}

func tags(events []string) []string {
	list := make([]string, 0, len(events))
	for _, id := range events {
		list = append(list, process.Tag(id))
	}
	return list
}

func eventsOf(list []process.Delivery) []string {
	ids := make([]string, 0, len(list))
	for _, d := range list {
		ids = append(ids, d.Event)
	}
	return ids
}

// outcome returns the transition of a delivery to the state of its message; nil
// for a state that is not an outcome.
func outcome(state process.DeliveryState, now time.Time, detail string) func(*process.Delivery) error {
	switch state {
	case process.Delivered:
		return func(d *process.Delivery) error { return d.Deliver(now, detail) }
	case process.Pending:
		return func(d *process.Delivery) error { return d.Retry(now, detail) }
	case process.Dead:
		return func(d *process.Delivery) error { return d.GiveUp(now, detail) }
	}
	return nil
}

// settle saves the outcome of a message.
func (co *completions) settle(events []string, state process.DeliveryState, detail string) {
	co.step(events, outcome(state, co.c.Now(), detail))
}

// list returns the open deliveries, oldest first.
func (co *completions) list() (open []process.Delivery, err error) {
	err = co.c.Host.View(func(tx *store.Tx) error {
		open, err = co.c.store.Open(tx)
		return err
	})
	return open, err
}

// step applies a transition to deliveries, durably, and returns those it fitted.
func (co *completions) step(ids []string, f func(*process.Delivery) error) []process.Delivery {
	var done []process.Delivery
	err := co.c.Host.Tx(func(tx *store.Tx) (err error) {
		done, err = co.c.store.Step(tx, ids, f)
		return err
	})
	if err != nil {
		slog.Warn("cannot save deliveries", "error", err)
		return nil
	}
	for _, d := range done {
		if d.State.Final() {
			co.forget(d.Event)
		}
	}
	return done
}

// refresh checks whether a delivery has become final.
func (co *completions) refresh(event string) {
	var final bool
	err := co.c.Host.View(func(tx *store.Tx) error {
		d, ok, err := co.c.store.Delivery(tx, event)
		final = !ok || d.State.Final()
		return err
	})
	if err == nil && final {
		co.forget(event)
	}
}

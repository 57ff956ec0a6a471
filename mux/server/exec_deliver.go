package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/store"
	"gascity.dev/gc/vt"
)

// Times of the waking of owners.
const (
	wakeWorkers = 8
	wakeTick    = time.Minute           // how often what has no event is looked at
	wakeBlocked = 2 * time.Second       // for a dialog or a person's draft to go away, before it is tried later
	wakeWorking = 5 * time.Second       // how often a program that gives no sign is looked at
	wakeGather  = 10 * time.Millisecond // many end at once
)

// wake makes the loop look at the deliveries, unless there are none.
func (x *execs) wake() {
	if x.none() {
		return
	}
	select {
	case x.kick <- struct{}{}:
	default:
	}
}

// run tells owners of ends until the server ends.
func (x *execs) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.srv.lifetime.work.Go(func() {
		<-x.srv.lifetime.done
		cancel()
	})
	limit := make(chan struct{}, wakeWorkers)
	x.armSweep()
	for {
		next := x.pass(ctx, limit)
		t := time.NewTimer(next)
		select {
		case <-x.kick:
			_ = sys.Sleep(ctx, wakeGather)
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// pass begins to tell every owner that is there and not being told, and returns
// when to look again.
func (x *execs) pass(ctx context.Context, limit chan struct{}) time.Duration {
	if x.none() {
		return 24 * time.Hour
	}
	open, err := x.deliveries()
	if err != nil {
		slog.Warn("cannot read deliveries", "error", err)
		return execRetryMax
	}
	now, next := x.srv.clock.Now(), wakeTick
	owners := make(map[string]bool)
	for _, d := range open {
		if d.Expired(now) {
			x.giveUp(d, now)
			continue
		}
		if d.State == process.Injecting && d.By == "" || d.Due(now) {
			owners[d.Owner] = true
		} else if wait := d.Next.Sub(now); wait > 0 {
			next = min(next, wait)
		}
	}
	for owner := range owners {
		x.tellOwner(ctx, owner, limit)
	}
	return next
}

// none reports whether no delivery is open.
func (x *execs) none() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.open) == 0
}

// giveUp makes a delivery that waited too long a dead letter.
func (x *execs) giveUp(d process.Delivery, now time.Time) {
	why := "its owner was not there for 24 h"
	if d.State == process.Injecting {
		why = "nobody said in 24 h what became of it, as it was typed by " + d.By
	}
	x.step([]string{d.Event}, func(d *process.Delivery) error { return d.GiveUp(now, why) })
}

// tellOwner begins to tell one owner in the background, when its session is
// there. Its start wakes the loop otherwise.
func (x *execs) tellOwner(ctx context.Context, owner string, limit chan struct{}) {
	x.srv.mu.Lock()
	s := x.srv.sessions.byName[owner]
	x.srv.mu.Unlock()
	if s == nil || !x.reserve(owner) {
		return
	}
	x.srv.lifetime.work.Go(func() {
		if more := x.tellOnce(ctx, s, owner, limit); more {
			defer x.wake()
		}
		x.release(owner)
	})
}

// deliveries are the open ones, oldest first.
func (x *execs) deliveries() (open []process.Delivery, err error) {
	err = x.srv.db.View(func(tx *store.Tx) error {
		open, err = x.book.Open(tx)
		return err
	})
	return open, err
}

// step applies a transition to deliveries, durably, and returns those it fitted.
func (x *execs) step(ids []string, f func(*process.Delivery) error) []process.Delivery {
	var done []process.Delivery
	err := x.srv.db.Batch(func(tx *store.Tx) error {
		var err error
		done, err = x.book.Step(tx, ids, f)
		return err
	})
	if err != nil {
		slog.Warn("cannot save deliveries", "error", err)
		return nil
	}
	for _, d := range done {
		if d.State.Final() {
			x.mu.Lock()
			delete(x.open, d.Event)
			x.mu.Unlock()
		}
	}
	return done
}

// refresh looks whether a delivery has become final.
func (x *execs) refresh(event string) {
	var final bool
	err := x.srv.db.View(func(tx *store.Tx) error {
		d, ok, err := x.book.Delivery(tx, event)
		final = !ok || d.State.Final()
		return err
	})
	if err == nil && final {
		x.mu.Lock()
		delete(x.open, event)
		x.mu.Unlock()
	}
}

// tellOnce tells the owner what is due, in one message. more: there may be more
// to tell.
func (x *execs) tellOnce(ctx context.Context, s *session, owner string, limit chan struct{}) (more bool) {
	if x.finishInjected(ctx, owner) {
		return true
	}
	if !x.awaitIdle(ctx, s) {
		return ctx.Err() == nil && !s.life.running()
	}
	select {
	case limit <- struct{}{}:
		defer func() { <-limit }()
	case <-ctx.Done():
		return false
	}
	batch, events, text := x.take(s.rec.ID, owner, "")
	if len(events) == 0 {
		return false
	}
	rec, err := s.nudges.once(ctx, api.NudgeRequest{ID: batch, Text: text, Timeout: wakeBlocked})
	if err != nil {
		rec = api.Receipt{State: api.Blocked, Detail: err.Error()}
	}
	execFault("typed")
	x.settle(ctx, s, events, rec)
	execFault("delivered")
	return true
}

// take leases what is due for an owner, oldest first, and makes the message,
// which by ("": this server) types into the session with the id.
func (x *execs) take(session, owner, by string) (batch string, events []string, text string) {
	open, err := x.deliveries()
	if err != nil {
		slog.Warn("cannot read deliveries", "error", err)
		return "", nil, ""
	}
	now := x.srv.clock.Now()
	var ids []string
	for _, d := range open {
		if d.Owner == owner && d.Due(now) && len(ids) < process.MaxBatch && !x.watched(d.Session) {
			ids = append(ids, d.Event)
		}
	}
	if len(ids) == 0 {
		return "", nil, ""
	}
	leased := x.step(ids, func(d *process.Delivery) error { return d.Acquire(now) })
	execFault("leased")
	var told []process.Event
	for _, d := range leased {
		events = append(events, d.Event)
	}
	if len(events) == 0 {
		return "", nil, ""
	}
	batch = fmt.Sprintf("%s %s %d", session, events[0], leased[0].Tries)
	injected := x.step(events, func(d *process.Delivery) error { return d.Inject(batch, by, x.srv.clock.Now()) })
	events = nil
	err = x.srv.db.View(func(tx *store.Tx) error {
		for _, d := range injected {
			e, ok, err := x.book.Event(tx, d.Event)
			if err != nil {
				return err
			}
			if ok {
				events, told = append(events, d.Event), append(told, e)
			}
		}
		return nil
	})
	if err != nil {
		slog.Warn("cannot save deliveries", "error", err)
	}
	execFault("injecting")
	return batch, events, process.Message(told)
}

// watched reports whether somebody waits for the command's end, and sees it
// in a moment.
func (x *execs) watched(id string) bool {
	p, err := x.find(id)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.followers > 0
}

// settle writes down what became of a message.
func (x *execs) settle(ctx context.Context, s *session, events []string, rec api.Receipt) {
	if rec.State == api.Dead { // what it said last is still to be read
		_ = s.life.await(ctx)
	}
	now := x.srv.clock.Now()
	delivered := func(detail string) {
		x.step(events, func(d *process.Delivery) error { return d.Deliver(now, detail) })
	}
	again := func(why string) {
		x.step(events, func(d *process.Delivery) error { return d.Retry(now, why) })
	}
	switch rec.State {
	case api.Submitted:
		delivered("")
	case api.Unverified:
		if s.shows(events) {
			delivered("it stands on the screen")
			return
		}
		x.step(events, func(d *process.Delivery) error {
			return d.GiveUp(now, "typed and entered, and not typed again: "+rec.Detail)
		})
	case api.Drafted:
		if err := s.clearDraft(ctx); err != nil {
			slog.Warn("cannot clear a draft", "session", s.rec.ID, "error", err)
		}
		again("typed, not submitted: " + rec.Detail)
	default:
		if s.shows(events) {
			delivered("it stands on the screen; the program has ended")
			return
		}
		again(rec.State + ": " + rec.Detail)
	}
}

// finishInjected finds out what became of messages that a server which died
// was typing: the nudge is finished or was reported, or the tags are looked
// for. It reports whether there were any.
func (x *execs) finishInjected(ctx context.Context, owner string) bool {
	open, err := x.deliveries()
	if err != nil {
		return false
	}
	batches := make(map[string][]string)
	var order []string
	for _, d := range open {
		if d.Owner != owner || d.State != process.Injecting || d.By != "" {
			continue
		}
		if batches[d.Batch] == nil {
			order = append(order, d.Batch)
		}
		batches[d.Batch] = append(batches[d.Batch], d.Event)
	}
	for _, batch := range order {
		x.finishBatch(ctx, batch, batches[batch])
	}
	return len(order) > 0
}

func (x *execs) finishBatch(ctx context.Context, batch string, events []string) {
	id, _, _ := strings.Cut(batch, " ")
	x.srv.mu.Lock()
	s := x.srv.sessions.byID[id]
	x.srv.mu.Unlock()
	if s == nil {
		x.settleGone(events)
		return
	}
	rec, known := s.nudgeResult(ctx, batch)
	if ctx.Err() != nil {
		return
	}
	if !known {
		rec = api.Receipt{State: api.Blocked, Detail: "the server was restarted before it was typed"}
	}
	x.settle(ctx, s, events, rec)
}

// settleGone puts back what was typed into a session of which nothing is left.
func (x *execs) settleGone(events []string) {
	now := x.srv.clock.Now()
	x.step(events, func(d *process.Delivery) error {
		return d.Retry(now, "the session it was typed into is gone")
	})
}

// nudgeResult is the receipt of a nudge that this server finishes, or that an
// earlier one has begun. known is false when no byte of it was typed.
func (s *session) nudgeResult(ctx context.Context, id string) (rec api.Receipt, known bool) {
	key := journal.NudgeKey(id)
	s.mu.Lock()
	f := s.nudges.flights[key]
	if f == nil {
		defer s.mu.Unlock()
		return s.nudges.remembered(key)
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.rec, f.err == nil
	case <-ctx.Done():
		return api.Receipt{}, false
	}
}

// awaitIdle waits until the program takes a message: it says that it is idle,
// or, when it says nothing, is quiet. False when the session or ctx ended.
func (x *execs) awaitIdle(ctx context.Context, s *session) bool {
	for {
		r, err := s.waitFor(ctx, api.WaitRequest{Conditions: []api.Condition{{Idle: true}, {Quiet: queueIdle}}})
		if err != nil || r.Met < 0 || r.Exit != nil {
			return false
		}
		a, err := s.activity.current(ctx)
		if err != nil {
			return false
		}
		if a.State != api.ActivityWorking && a.State != api.ActivityBlocked {
			return true
		}
		if !s.pause(ctx, wakeWorking) {
			return false
		}
	}
}

// pause waits for a change of the screen, d at most; false when ctx ended.
func (s *session) pause(ctx context.Context, d time.Duration) bool {
	s.mu.Lock()
	change := s.change()
	s.mu.Unlock()
	return waitChange(ctx, change, d) == nil
}

// shows reports whether the tags of all events stand on the screen or in the
// history, and not as a draft on the cursor's line.
func (s *session) shows(events []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := squeeze(s.screen.view().Text(vt.TextOptions{Join: true}))
	row := s.screen.term.Cursor().Row
	draft := squeeze(s.screen.term.Line(row))
	if row > 0 && draft != "" { // it may be wrapped
		draft = squeeze(s.screen.term.Line(row-1)) + draft
	}
	return !slices.ContainsFunc(events, func(id string) bool {
		tag := squeeze(process.Tag(id))
		return !strings.Contains(text, tag) || strings.Contains(draft, tag)
	})
}

// clearDraft empties the composer of what gc itself typed and could not submit.
func (s *session) clearDraft(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, nudgeStuck)
	defer cancel()
	return s.input.send(limited, []byte{ctrlU})
}

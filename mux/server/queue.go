package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Times and limits of the queue.
const (
	queueTTL     = 24 * time.Hour
	queueLease   = 2 * time.Minute
	queuePause   = time.Second // after the first failed attempt, then doubled up to queuePauses
	queuePauses  = time.Minute
	queueTries   = 50
	queueKeep    = time.Hour // a delivered message
	maxQueue     = 10_000
	queueWorkers = 8 // messages typed at once
)

// queueBucket holds the messages by id; ids sort by age.
var queueBucket = store.NewBucket[api.QueueItem]("queue")

// deliveries delivers queued messages to their sessions: one at a time for each name, in
// order. A message is leased, durably, before the attempt, and its nudge has the
// message's id. So a server that follows a crash finds out whether a leased message was
// typed and never types it twice.
type deliveries struct {
	srv   *server
	kick  chan struct{}
	limit chan struct{}
	work  sync.WaitGroup
	waits atomic.Bool // false only if the last pass found nothing waiting

	mu      sync.Mutex
	busy    map[string]bool // names with a delivery under way
	changed chan struct{}   // closed at the next change of a message; nil while nobody waits
	unsaved unsaved
	left    map[string]leftMessage // leased by the last server, by id
}

func newDeliveries(srv *server) *deliveries {
	return &deliveries{
		srv: srv, kick: make(chan struct{}, 1), limit: make(chan struct{}, queueWorkers), busy: make(map[string]bool),
		unsaved: unsaved{items: make(map[string]api.QueueItem)},
	}
}

// wake makes the loop look at the queue.
func (d *deliveries) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// sessionsChanged wakes the loop if a message may wait for a session that came or went.
func (d *deliveries) sessionsChanged() {
	if d.waits.Load() {
		d.wake()
	}
}

// run delivers until done is closed.
func (d *deliveries) run(done <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer d.work.Wait()
	defer cancel()
	for {
		next := d.pass(ctx)
		var later <-chan time.Time
		var t *time.Timer
		if !next.IsZero() {
			t = time.NewTimer(-d.srv.clock.Since(next))
			later = t.C
		}
		select {
		case <-d.kick:
		case <-later:
		case <-done:
			cancel()
			return
		}
		if t != nil {
			t.Stop()
		}
	}
}

// pass starts what is due and returns when to look again; zero: when something changes.
func (d *deliveries) pass(ctx context.Context) (next time.Time) {
	d.waits.Store(true) // before the sessions are examined: a change from now on wakes the next pass
	defer func() { d.waits.Store(!next.IsZero()) }()
	if later := d.save(); !later.IsZero() {
		return later
	}
	items, err := d.list("")
	if err != nil {
		slog.Warn("cannot read the queue", "error", err)
		return d.srv.clock.Now().Add(queuePause)
	}
	now := d.srv.clock.Now()
	soonest := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	seen := make(map[string]bool)
	for _, it := range items {
		if it.State == api.QueueDead || it.State != api.QueueDelivered && seen[it.Target] {
			continue
		}
		if it.State == api.QueueDelivered {
			if now.Sub(it.Done) > queueKeep {
				_ = d.remove(it.ID)
			} else {
				soonest(it.Done.Add(queueKeep + time.Second))
			}
			continue
		}
		expired := now.After(it.Expires)
		switch {
		case d.isBusy(it.Target): // the end of that delivery wakes the loop
		case it.State == api.QueueLeased:
			d.begin(it, func() { d.settleLeft(ctx, it) })
		case expired:
			d.finish(it, api.QueueDead, strings.TrimSuffix("expired: "+it.Detail, ": "))
			continue
		case it.Next.After(now):
			soonest(it.Next)
		default:
			d.start(ctx, it)
		}
		seen[it.Target] = true
		if !expired {
			soonest(it.Expires.Add(time.Second))
		}
	}
	return next
}

// start delivers a message in the background if its session exists.
func (d *deliveries) start(ctx context.Context, it api.QueueItem) {
	s := d.srv.sessions.named(it.Target)
	if it.Session != "" && (s == nil || s.rec.ID != it.Session) {
		var err error
		if s, err = d.srv.sessions.find(it.Session); err != nil || !s.life.running() { // if it runs, it was renamed
			d.finish(it, api.QueueDead, "the session has ended")
			return
		}
	}
	if s != nil { // else its start wakes the loop
		d.begin(it, func() { d.deliver(ctx, s, it) })
	}
}

// begin runs f in the background as the only work for the message's target.
func (d *deliveries) begin(it api.QueueItem, f func()) {
	d.mu.Lock()
	d.busy[it.Target] = true
	d.mu.Unlock()
	d.work.Go(func() {
		f()
		d.mu.Lock()
		delete(d.busy, it.Target)
		d.mu.Unlock()
		d.wake()
	})
}

func (d *deliveries) isBusy(target string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy[target]
}

// enqueue checks a message and writes it.
func (d *deliveries) enqueue(r api.QueueRequest) (api.QueueItem, error) {
	if err := api.CheckName(r.Target); err != nil {
		return api.QueueItem{}, err
	}
	if r.Policy == "" {
		r.Policy = api.PolicyWaitIdle
	}
	if r.Policy != api.PolicyWaitIdle && r.Policy != api.PolicyImmediate {
		return api.QueueItem{}, fmt.Errorf("%w: policy %q (%s, %s)", api.ErrRequest, r.Policy, api.PolicyWaitIdle, api.PolicyImmediate)
	}
	if len(r.Text) > maxNudge {
		return api.QueueItem{}, fmt.Errorf("%w: a message of %d bytes, at most %d", api.ErrTooLarge, len(r.Text), maxNudge)
	}
	if r.TTL <= 0 {
		r.TTL = queueTTL
	}
	now := d.srv.clock.Now()
	it := api.QueueItem{QueueRequest: r, State: api.QueueWaiting, Created: now, Expires: now.Add(r.TTL)}
	err := d.srv.db.Batch(func(tx *store.Tx) error {
		if queueBucket.Len(tx, "") >= maxQueue {
			return fmt.Errorf("%w: %d messages are queued", api.ErrTooLarge, maxQueue)
		}
		n, err := queueBucket.NextSequence(tx)
		if err != nil {
			return err
		}
		it.ID = fmt.Sprintf("%016x", n)
		return queueBucket.Put(tx, it.ID, it)
	})
	d.wake()
	return it, err
}

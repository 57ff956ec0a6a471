package queue

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Times and limits of the queue.
const (
	lifetime      = 24 * time.Hour
	leaseTime     = 2 * time.Minute
	firstPause    = time.Second // after the first failed attempt, then doubled up to longestPause
	longestPause  = time.Minute
	maxTries      = 50
	keepDelivered = time.Hour // a delivered message
	maxMessages   = 10_000
	Workers       = 8 // messages typed at once
)

// messages holds the messages by id; ids sort by age.
var messages = store.NewBucket[api.QueueItem]("queue")

// Options are what a queue works with.
type Options struct {
	Host    Host
	DB      *store.DB
	Clock   *clock.Clock
	Done    <-chan struct{} // closed when the server ends
	MaxText int             // bytes of a message
}

// Queue delivers messages to their sessions: one at a time for each name, in order.
type Queue struct {
	Options
	kick  chan struct{}
	limit chan struct{}
	work  sync.WaitGroup
	waits atomic.Bool // false only if the last pass found nothing waiting

	mu      sync.Mutex
	busy    map[string]bool // names with a delivery under way
	changed chan struct{}   // closed at the next change of a message; nil without a waiter
	unsaved unsaved
	left    map[string]outcome // of messages leased by the last server, by id
}

// New returns a queue, which delivers once Run is called.
func New(o Options) *Queue {
	return &Queue{
		Options: o, kick: make(chan struct{}, 1), limit: make(chan struct{}, Workers), busy: make(map[string]bool),
		unsaved: unsaved{items: make(map[string]api.QueueItem)},
	}
}

// wake makes the loop look at the queue.
func (q *Queue) wake() {
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// SessionsChanged wakes the loop if a message may wait for a session that came or went.
func (q *Queue) SessionsChanged() {
	if q.waits.Load() {
		q.wake()
	}
}

// Run delivers until Options.Done is closed.
func (q *Queue) Run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer q.work.Wait()
	defer cancel()
	for {
		next := q.pass(ctx)
		var later <-chan time.Time
		var t *time.Timer
		if !next.IsZero() {
			t = time.NewTimer(-q.Clock.Since(next))
			later = t.C
		}
		select {
		case <-q.kick:
		case <-later:
		case <-q.Done:
			cancel()
			return
		}
		if t != nil {
			t.Stop()
		}
	}
}

// pass starts what is due and returns when to look again; zero: when something changes.
func (q *Queue) pass(ctx context.Context) (next time.Time) {
	q.waits.Store(true) // before the sessions are examined: a change from now on wakes the next pass
	defer func() { q.waits.Store(!next.IsZero()) }()
	if later := q.save(); !later.IsZero() {
		return later
	}
	items, err := q.List("")
	if err != nil {
		slog.Warn("cannot read the queue", "error", err)
		return q.Clock.Now().Add(firstPause)
	}
	now := q.Clock.Now()
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
			if now.Sub(it.Done) > keepDelivered {
				_ = q.Remove(it.ID)
			} else {
				soonest(it.Done.Add(keepDelivered + time.Second))
			}
			continue
		}
		expired := now.After(it.Expires)
		switch {
		case q.isBusy(it.Target): // the end of that delivery wakes the loop
		case it.State == api.QueueLeased:
			q.begin(it, func() { q.settleLeft(ctx, it) })
		case expired:
			q.finish(it, api.QueueDead, strings.TrimSuffix("expired: "+it.Detail, ": "))
			continue
		case it.Next.After(now):
			soonest(it.Next)
		default:
			q.start(ctx, it)
		}
		seen[it.Target] = true
		if !expired {
			soonest(it.Expires.Add(time.Second))
		}
	}
	return next
}

// start delivers a message in the background if its session exists.
func (q *Queue) start(ctx context.Context, it api.QueueItem) {
	s, found := q.Host.Running(it.Target)
	if it.Session != "" && (!found || s.ID() != it.Session) {
		if s, found = q.Host.Find(it.Session); !found || !s.Running() { // if it runs, it was renamed
			q.finish(it, api.QueueDead, "the session has ended")
			return
		}
	}
	if found { // else its start wakes the loop
		q.begin(it, func() { q.deliver(ctx, s, it) })
	}
}

// begin runs f in the background as the only work for the message's target.
func (q *Queue) begin(it api.QueueItem, f func()) {
	q.mu.Lock()
	q.busy[it.Target] = true
	q.mu.Unlock()
	q.work.Go(func() {
		f()
		q.mu.Lock()
		delete(q.busy, it.Target)
		q.mu.Unlock()
		q.wake()
	})
}

func (q *Queue) isBusy(target string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy[target]
}

// Add checks a message and writes it.
func (q *Queue) Add(r api.QueueRequest) (api.QueueItem, error) {
	if err := api.CheckName(r.Target); err != nil {
		return api.QueueItem{}, err
	}
	if r.Policy == "" {
		r.Policy = api.PolicyWaitIdle
	}
	if r.Policy != api.PolicyWaitIdle && r.Policy != api.PolicyImmediate {
		return api.QueueItem{}, fmt.Errorf("%w: policy %q (%s, %s)", api.ErrRequest, r.Policy, api.PolicyWaitIdle, api.PolicyImmediate)
	}
	if len(r.Text) > q.MaxText {
		return api.QueueItem{}, fmt.Errorf("%w: a message of %d bytes, at most %d", api.ErrTooLarge, len(r.Text), q.MaxText)
	}
	if r.TTL <= 0 {
		r.TTL = lifetime
	}
	now := q.Clock.Now()
	it := api.QueueItem{QueueRequest: r, State: api.QueueWaiting, Created: now, Expires: now.Add(r.TTL)}
	err := q.DB.Batch(func(tx *store.Tx) error {
		if messages.Len(tx, "") >= maxMessages {
			return fmt.Errorf("%w: %d messages are queued", api.ErrTooLarge, maxMessages)
		}
		n, err := messages.NextSequence(tx)
		if err != nil {
			return err
		}
		it.ID = fmt.Sprintf("%016x", n)
		return messages.Put(tx, it.ID, it)
	})
	q.wake()
	return it, err
}

package mux

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/store"
)

// Times and bounds of the queue.
const (
	queueTTL     = 24 * time.Hour
	queueLease   = 2 * time.Minute
	queueIdle    = time.Second // of quiet, before a background command's end is told
	queuePause   = time.Second // after the first failed try, doubled up to queuePauses
	queuePauses  = time.Minute
	queueTries   = 50
	queueKeep    = time.Hour // a delivered message
	maxQueue     = 10_000
	queueWorkers = 8 // messages typed at once
)

// queueBucket holds the messages by id; ids sort by age.
var queueBucket = store.NewBucket[QueueItem]("queue")

// deliveries hands queued messages to their sessions: one at a time for each
// name, in order. A message is leased before it is tried, and its nudge has the
// message's id: after a crash it is known whether it was typed, and it is never
// typed again.
type deliveries struct {
	srv   *server
	kick  chan struct{}
	limit chan struct{}
	work  sync.WaitGroup
	waits atomic.Bool // false: no message waits, and a pass that finds one is still to begin

	mu      sync.Mutex
	busy    map[string]bool // names with a delivery under way
	changed chan struct{}   // closed at the next change of a message; nil while nobody waits
}

func newDeliveries(srv *server) *deliveries {
	return &deliveries{
		srv: srv, kick: make(chan struct{}, 1), limit: make(chan struct{}, queueWorkers), busy: make(map[string]bool),
	}
}

// wake makes the loop look at the queue.
func (d *deliveries) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// sessionsChanged makes the loop look at the queue when a message may have
// waited for a session that came or went.
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

// pass starts what is due and returns when to look again; zero: when
// something happens.
func (d *deliveries) pass(ctx context.Context) (next time.Time) {
	d.waits.Store(true) // before the sessions are looked at: one that comes now wakes the next pass
	defer func() { d.waits.Store(!next.IsZero()) }()
	items, err := d.list("")
	if err != nil {
		logf("queue: %v", err)
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
		switch {
		case it.State == QueueDelivered:
			if now.Sub(it.Done) > queueKeep {
				_ = d.remove(it.ID)
			} else {
				soonest(it.Done.Add(queueKeep + time.Second))
			}
			continue
		case it.State == QueueDead || seen[it.Target]:
			continue
		case now.After(it.Expires):
			d.finish(it, QueueDead, "its time was over")
			continue
		}
		seen[it.Target] = true
		soonest(it.Expires.Add(time.Second))
		if it.Next.After(now) {
			soonest(it.Next)
			continue
		}
		d.start(ctx, it)
	}
	return next
}

// start delivers a message in the background, unless its session is not there
// or busy with another one.
func (d *deliveries) start(ctx context.Context, it QueueItem) {
	d.srv.mu.Lock()
	s := d.srv.live[it.Target]
	d.srv.mu.Unlock()
	if it.Session != "" && (s == nil || s.rec.ID != it.Session) {
		var err error
		if s, err = d.srv.find(it.Session); err != nil || !s.isRunning() { // else it has another name now
			d.finish(it, QueueDead, "the session has ended")
			return
		}
	}
	if s == nil {
		return // its start wakes the loop
	}
	d.mu.Lock()
	busy := d.busy[it.Target]
	d.busy[it.Target] = true
	d.mu.Unlock()
	if busy {
		return
	}
	d.work.Go(func() {
		d.deliver(ctx, s, it)
		d.mu.Lock()
		delete(d.busy, it.Target)
		d.mu.Unlock()
		d.wake()
	})
}

// deliver tries one message once.
func (d *deliveries) deliver(ctx context.Context, s *session, it QueueItem) {
	ctx, cancel := context.WithTimeout(ctx, -d.srv.clock.Since(it.Expires))
	defer cancel()
	if it.Policy == PolicyWaitIdle && !d.awaitIdle(ctx, s, &it) {
		return // looked at again
	}
	d.limit <- struct{}{}
	defer func() { <-d.limit }()
	it.State, it.Detail, it.Tries, it.Lease = QueueLeased, "", it.Tries+1, d.srv.clock.Now().Add(queueLease)
	if kept, err := d.put(it); err != nil || !kept {
		if err != nil {
			logf("queue: %v", err)
		}
		return
	}
	id := "queue-" + it.ID
	rec, err := s.nudgeOnce(ctx, NudgeRequest{ID: id, Text: it.Text, Raw: it.Raw})
	if err != nil {
		d.retry(it, err.Error())
		return
	}
	it.Receipt = &rec
	switch rec.State {
	case Submitted:
		d.finish(it, QueueDelivered, "")
	case Drafted, Unverified:
		d.finish(it, QueueDead, "it was typed and is not typed again: "+rec.Detail)
	case Dead:
		if it.Session != "" {
			d.finish(it, QueueDead, "the session has ended")
			return
		}
		d.retry(it, rec.Detail)
	case Blocked: // nothing was typed: the next try is one, and not told of this one
		s.forgetNudge(id)
		d.retry(it, rec.Detail)
	default:
		d.retry(it, rec.Detail)
	}
}

// awaitIdle waits until the program is known to be idle, and says with the
// message why it waits. false: it ended, or the message is not wanted any more.
func (d *deliveries) awaitIdle(ctx context.Context, s *session, it *QueueItem) bool {
	for {
		a, err := s.currentActivity(ctx)
		if err != nil || a.State == ActivityExited {
			return false
		}
		if a.TakesMessages() {
			return true
		}
		if why := "waiting until it is idle: it is " + a.State + ": " + a.Evidence; why != it.Detail {
			it.Detail = why
			if kept, err := d.put(*it); err != nil || !kept {
				return false
			}
		}
		err = s.awaitActivity(ctx, func(now Activity) bool { return now.State != a.State || now.Evidence != a.Evidence })
		if err != nil {
			return false
		}
	}
}

// retry puts a message back for later.
func (d *deliveries) retry(it QueueItem, why string) {
	if it.Tries >= queueTries {
		d.finish(it, QueueDead, fmt.Sprintf("%d tries: %s", it.Tries, why))
		return
	}
	it.State, it.Lease, it.Detail = QueueWaiting, time.Time{}, why
	it.Next = d.srv.clock.Now().Add(min(queuePause<<min(it.Tries-1, 10), queuePauses))
	if _, err := d.put(it); err != nil {
		logf("queue: %v", err)
	}
}

func (d *deliveries) finish(it QueueItem, state, detail string) {
	it.State, it.Detail, it.Lease, it.Next, it.Done = state, detail, time.Time{}, time.Time{}, d.srv.clock.Now()
	if _, err := d.put(it); err != nil {
		logf("queue: %v", err)
	}
}

// put writes a message that is still wanted; kept is false for one that was
// removed meanwhile.
func (d *deliveries) put(it QueueItem) (kept bool, err error) {
	defer d.notify()
	err = d.srv.db.Batch(func(tx *store.Tx) error {
		if _, kept, err = queueBucket.Get(tx, it.ID); err != nil || !kept {
			return err
		}
		return queueBucket.Put(tx, it.ID, it)
	})
	return kept && err == nil, err
}

func (d *deliveries) remove(id string) error {
	defer d.notify()
	return d.srv.db.Batch(func(tx *store.Tx) error { return queueBucket.Delete(tx, id) })
}

// notify wakes those who wait for the end of a message.
func (d *deliveries) notify() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// await returns a message when it was delivered or given up, or as it is after
// limit. ErrNoMessage when there is none.
func (d *deliveries) await(ctx context.Context, id string, limit time.Duration) (it QueueItem, err error) {
	late, stop := after(limit)
	defer stop()
	for {
		d.mu.Lock()
		if d.changed == nil {
			d.changed = make(chan struct{})
		}
		changed := d.changed
		d.mu.Unlock()
		found := false
		err = d.srv.db.View(func(tx *store.Tx) error {
			it, found, err = queueBucket.Get(tx, id)
			return err
		})
		switch {
		case err != nil:
			return it, err
		case !found:
			return it, fmt.Errorf("%w: %s", ErrNoMessage, id)
		case it.State == QueueDelivered || it.State == QueueDead:
			return it, nil
		}
		select {
		case <-changed:
		case <-late:
			return it, nil
		case <-d.srv.done:
			return it, nil
		case <-ctx.Done():
			return it, ctx.Err()
		}
	}
}

func (d *deliveries) list(target string) ([]QueueItem, error) {
	out := []QueueItem{}
	err := d.srv.db.View(func(tx *store.Tx) error {
		return queueBucket.Each(tx, "", func(_ string, it QueueItem) error {
			if target == "" || it.Target == target {
				out = append(out, it)
			}
			return nil
		})
	})
	return out, err
}

// enqueue checks a message and writes it.
func (d *deliveries) enqueue(r QueueRequest) (QueueItem, error) {
	if err := checkName(r.Target); err != nil {
		return QueueItem{}, err
	}
	if r.Policy == "" {
		r.Policy = PolicyWaitIdle
	}
	if r.Policy != PolicyWaitIdle && r.Policy != PolicyImmediate {
		return QueueItem{}, fmt.Errorf("%w: policy %q (%s, %s)", ErrRequest, r.Policy, PolicyWaitIdle, PolicyImmediate)
	}
	if len(r.Text) > maxNudge {
		return QueueItem{}, fmt.Errorf("%w: a message of %d bytes, at most %d", ErrTooLarge, len(r.Text), maxNudge)
	}
	if r.TTL <= 0 {
		r.TTL = queueTTL
	}
	now := d.srv.clock.Now()
	it := QueueItem{QueueRequest: r, State: QueueWaiting, Created: now, Expires: now.Add(r.TTL)}
	err := d.srv.db.Batch(func(tx *store.Tx) error {
		if queueBucket.Len(tx, "") >= maxQueue {
			return fmt.Errorf("%w: %d messages are queued", ErrTooLarge, maxQueue)
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

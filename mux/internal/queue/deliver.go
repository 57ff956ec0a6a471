package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gascity.dev/gc/mux/api"
)

// nudgeID is the id of the nudge that carries a message. The creation time
// distinguishes it from messages of a mux.db that was set aside.
func nudgeID(it *api.QueueItem) string {
	return "queue-" + it.ID + "-" + strconv.FormatInt(it.Created.UnixNano(), 36)
}

// outcome returns what became of a message that the last server had leased; nil if
// nothing was typed.
type outcome func(context.Context) (api.Receipt, error)

// Adopt finds out what became of leased messages. It is called before the first request
// is answered: later nudges may overwrite the evidence.
func (q *Queue) Adopt() error {
	items, err := q.List("")
	if err != nil {
		return err
	}
	q.left = make(map[string]outcome)
	for _, it := range items {
		if it.State == api.QueueLeased {
			q.left[it.ID] = q.Host.Typed(it.Target, it.Session, nudgeID(&it), "queue-"+it.ID) // the latter is an earlier version's
		}
	}
	return nil
}

// settleLeft ends a message that the last server had leased, or puts it back if nothing
// was typed.
func (q *Queue) settleLeft(ctx context.Context, it api.QueueItem) {
	typed := q.left[it.ID]
	if typed == nil {
		it.State, it.Lease, it.Detail = api.QueueWaiting, time.Time{}, "the server was restarted before it was typed"
		q.put(it)
		return
	}
	rec, err := typed(ctx)
	if err != nil {
		return // the next server settles it
	}
	q.record(it, rec)
}

// deliver makes one attempt to deliver a message.
func (q *Queue) deliver(ctx context.Context, s Session, it api.QueueItem) {
	ctx, cancel := context.WithTimeout(ctx, -q.Clock.Since(it.Expires))
	defer cancel()
	wait := it.Policy == api.PolicyWaitIdle || waitsForTurn(it.Receipt)
	if wait && !q.awaitIdle(ctx, s, &it) {
		return // the next pass sees it again
	}
	select {
	case q.limit <- struct{}{}:
		defer func() { <-q.limit }()
	case <-ctx.Done():
		return
	}
	before := it
	it.State, it.Detail, it.Tries, it.Lease = api.QueueLeased, "", it.Tries+1, q.Clock.Now().Add(leaseTime)
	if kept, err := q.write(it); err != nil {
		q.hold(before, err) // nothing was typed
		return
	} else if !kept {
		return
	}
	rec, err := s.Nudge(ctx, api.NudgeRequest{ID: nudgeID(&it), Text: it.Text, Raw: it.Raw, Now: !wait})
	if err != nil { // nothing was typed
		rec = api.Receipt{State: api.Refused, Detail: err.Error()}
	}
	q.record(it, rec)
}

// waitsForTurn reports whether a message was refused only because its agent was not at
// the end of a turn: the next attempt waits for that.
func waitsForTurn(rec *api.Receipt) bool {
	return rec != nil && rec.State == api.Blocked && (rec.By == api.ByTurn || rec.By == api.ByQuestion || rec.By == api.ByStart)
}

// record records the outcome of an attempt. A message that was not typed is tried again.
func (q *Queue) record(it api.QueueItem, rec api.Receipt) {
	it.Receipt = &rec
	switch {
	case rec.State == api.Submitted:
		q.finish(it, api.QueueDelivered, "")
	case rec.State == api.Dead && it.Session != "":
		q.finish(it, api.QueueDead, "the session has ended")
	case rec.State == api.Dead:
		q.retry(it, rec.Detail)
	case rec.State == api.Drafted || rec.State == api.Unverified || rec.Typed:
		q.finish(it, api.QueueDead, "it was typed and is not typed again: "+rec.Detail)
	default:
		q.retry(it, rec.Detail)
	}
}

// awaitIdle waits until the program is idle and records in the message why it waits. It
// returns false if the program ended or the message was removed.
func (q *Queue) awaitIdle(ctx context.Context, s Session, it *api.QueueItem) bool {
	for {
		a, err := s.Activity(ctx)
		if err != nil || a.State == api.ActivityExited {
			return false
		}
		if a.TakesMessages() {
			return true
		}
		if why := "waiting until it is idle: it is " + a.State + ": " + a.Evidence; why != it.Detail {
			it.Detail = why
			if !q.put(*it) {
				return false
			}
		}
		err = s.AwaitActivity(ctx, func(now api.Activity) bool { return now.State != a.State || now.Evidence != a.Evidence })
		if err != nil {
			return false
		}
	}
}

// retry puts a message back for later.
func (q *Queue) retry(it api.QueueItem, why string) {
	if it.Tries >= maxTries {
		q.finish(it, api.QueueDead, fmt.Sprintf("gave up after %d attempts: %s", it.Tries, why))
		return
	}
	it.State, it.Lease, it.Detail = api.QueueWaiting, time.Time{}, why
	it.Next = q.Clock.Now().Add(min(firstPause<<min(it.Tries-1, 10), longestPause))
	q.put(it)
}

func (q *Queue) finish(it api.QueueItem, state, detail string) {
	it.State, it.Detail, it.Lease, it.Next, it.Done = state, detail, time.Time{}, time.Time{}, q.Clock.Now()
	q.put(it)
}

package server

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
)

// queueNudgeID is the id of the nudge that carries a message. The creation time
// distinguishes it from messages of a mux.db that was set aside.
func queueNudgeID(it *api.QueueItem) string {
	return "queue-" + it.ID + "-" + strconv.FormatInt(it.Created.UnixNano(), 36)
}

// leftMessage is what is known of a message that the last server had leased.
type leftMessage struct {
	s      *session // nil: nothing was typed
	rec    api.Receipt
	flight *flight // it is being finished; rec follows
}

// adopt finds out what became of leased messages. It runs before the first request is
// answered: later nudges may overwrite the evidence.
func (d *deliveries) adopt() error {
	items, err := d.list("")
	if err != nil {
		return err
	}
	d.left = make(map[string]leftMessage)
	for _, it := range items {
		if it.State == api.QueueLeased {
			d.left[it.ID] = d.srv.lookForMessage(&it)
		}
	}
	return nil
}

// lookForMessage searches the journals of all sessions of the target's name. No request
// is answered yet, so it needs no lock.
func (srv *server) lookForMessage(it *api.QueueItem) leftMessage {
	keys := []uint64{journal.NudgeKey(queueNudgeID(it)), journal.NudgeKey("queue-" + it.ID)} // an earlier version's id
	for _, s := range srv.sessions.byID {
		if s.rec.Name != it.Target && s.rec.ID != it.Session { // it may have been renamed
			continue
		}
		for _, key := range keys {
			if f := s.nudges.flights[key]; f != nil {
				return leftMessage{s: s, flight: f}
			}
			if rec, ok := s.storage.journal.Receipt(key); ok {
				return leftMessage{s: s, rec: rec}
			}
		}
	}
	return leftMessage{}
}

// settleLeft ends a message that the last server had leased, or puts it back if nothing
// was typed.
func (d *deliveries) settleLeft(ctx context.Context, it api.QueueItem) {
	left := d.left[it.ID]
	if left.flight != nil {
		select {
		case <-left.flight.done:
			left.rec = left.flight.rec
		case <-ctx.Done():
			return
		}
	}
	if left.s == nil {
		it.State, it.Lease, it.Detail = api.QueueWaiting, time.Time{}, "the server was restarted before it was typed"
		d.put(it)
		return
	}
	d.record(it, left.rec)
}

// deliver makes one attempt to deliver a message.
func (d *deliveries) deliver(ctx context.Context, s *session, it api.QueueItem) {
	ctx, cancel := context.WithTimeout(ctx, -d.srv.clock.Since(it.Expires))
	defer cancel()
	if it.Policy == api.PolicyWaitIdle && !d.awaitIdle(ctx, s, &it) {
		return // the next pass sees it again
	}
	select {
	case d.limit <- struct{}{}:
		defer func() { <-d.limit }()
	case <-ctx.Done():
		return
	}
	before := it
	it.State, it.Detail, it.Tries, it.Lease = api.QueueLeased, "", it.Tries+1, d.srv.clock.Now().Add(queueLease)
	if kept, err := d.write(it); err != nil {
		d.hold(before, err) // nothing was typed
		return
	} else if !kept {
		return
	}
	rec, err := s.nudges.once(ctx, api.NudgeRequest{ID: queueNudgeID(&it), Text: it.Text, Raw: it.Raw})
	if err != nil { // nothing was typed
		rec = api.Receipt{State: api.Refused, Detail: err.Error()}
	}
	d.record(it, rec)
}

// record records the outcome of an attempt. A message that was not typed is tried again.
func (d *deliveries) record(it api.QueueItem, rec api.Receipt) {
	it.Receipt = &rec
	switch {
	case rec.State == api.Submitted:
		d.finish(it, api.QueueDelivered, "")
	case rec.State == api.Dead && it.Session != "":
		d.finish(it, api.QueueDead, "the session has ended")
	case rec.State == api.Dead:
		d.retry(it, rec.Detail)
	case rec.State == api.Drafted || rec.State == api.Unverified || rec.Typed:
		d.finish(it, api.QueueDead, "it was typed and is not typed again: "+rec.Detail)
	default:
		d.retry(it, rec.Detail)
	}
}

// awaitIdle waits until the program is idle and records in the message why it waits. It
// returns false if the program ended or the message was removed.
func (d *deliveries) awaitIdle(ctx context.Context, s *session, it *api.QueueItem) bool {
	for {
		a, err := s.activity.current(ctx)
		if err != nil || a.State == api.ActivityExited {
			return false
		}
		if a.TakesMessages() {
			return true
		}
		if why := "waiting until it is idle: it is " + a.State + ": " + a.Evidence; why != it.Detail {
			it.Detail = why
			if !d.put(*it) {
				return false
			}
		}
		err = s.activity.await(ctx, func(now api.Activity) bool { return now.State != a.State || now.Evidence != a.Evidence })
		if err != nil {
			return false
		}
	}
}

// retry puts a message back for later.
func (d *deliveries) retry(it api.QueueItem, why string) {
	if it.Tries >= queueTries {
		d.finish(it, api.QueueDead, fmt.Sprintf("gave up after %d attempts: %s", it.Tries, why))
		return
	}
	it.State, it.Lease, it.Detail = api.QueueWaiting, time.Time{}, why
	it.Next = d.srv.clock.Now().Add(min(queuePause<<min(it.Tries-1, 10), queuePauses))
	d.put(it)
}

func (d *deliveries) finish(it api.QueueItem, state, detail string) {
	it.State, it.Detail, it.Lease, it.Next, it.Done = state, detail, time.Time{}, time.Time{}, d.srv.clock.Now()
	d.put(it)
}

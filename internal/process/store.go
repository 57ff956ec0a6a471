package process

import (
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/store"
)

// The buckets of a store. Final deliveries move to finished, so that open ones
// are found without reading the rest.
var (
	records    = store.NewBucket[Record]("exec.records")
	running    = store.NewBucket[bool]("exec.running") // owner NUL id
	keys       = store.NewBucket[string]("exec.keys")  // owner NUL key → id
	events     = store.NewBucket[Event]("exec.events")
	deliveries = store.NewBucket[Delivery]("exec.deliveries")
	finished   = store.NewBucket[Delivery]("exec.settled")
)

// Store is the transactions over records, events and deliveries. Its methods are
// called inside a transaction of the database, which makes them one write.
type Store struct{}

func owned(owner, id string) string { return owner + "\x00" + id }

// Begin adds a record before its process starts. If the owner has a record with
// the same key, that is returned instead, with existed. ErrLimit if the owner
// has MaxRunning commands.
func (Store) Begin(tx *store.Tx, r Record) (rec Record, existed bool, err error) {
	if r.Key != "" {
		id, ok, err := keys.Get(tx, owned(r.Owner, r.Key))
		if err != nil {
			return r, false, err
		}
		if ok {
			if old, ok, err := records.Get(tx, id); err != nil || ok {
				return old, ok, err
			}
		}
	}
	if n := running.Len(tx, owned(r.Owner, "")); n >= MaxRunning {
		return r, false, fmt.Errorf("%w: %q already has %d, the limit per owner", ErrLimit, r.Owner, n)
	}
	r.Status = Running
	if r.Key != "" {
		if err := keys.Put(tx, owned(r.Owner, r.Key), r.ID); err != nil {
			return r, false, err
		}
	}
	if err := running.Put(tx, owned(r.Owner, r.ID), true); err != nil {
		return r, false, err
	}
	return r, false, records.Put(tx, r.ID, r)
}

// Update changes a record by f; ErrNotFound if there is none. f must not change
// what an end changes.
func (Store) Update(tx *store.Tx, id string, f func(*Record)) (Record, error) {
	r, ok, err := records.Get(tx, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return r, err
	}
	f(&r)
	return r, records.Put(tx, id, r)
}

// Finish writes the end, its event and the delivery to the owner, or none of
// them. first is false if the end was written before; then nothing changes.
func (Store) Finish(tx *store.Tx, id string, e End) (r Record, first bool, err error) {
	r, ok, err := records.Get(tx, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil || r.Status.Ended() {
		return r, false, err
	}
	r = r.Finish(e)
	if err := records.Put(tx, id, r); err != nil {
		return r, false, err
	}
	if err := running.Delete(tx, owned(r.Owner, id)); err != nil {
		return r, false, err
	}
	if err := events.Put(tx, r.EventID(), r.Event()); err != nil {
		return r, false, err
	}
	if r.Wakes() {
		d := Delivery{
			Event: r.EventID(), Session: id, Owner: r.Owner, Always: r.Notify == NotifyAlways,
			Progress: delivery.Progress{State: Pending, Created: r.MonoEnd, Updated: r.MonoEnd},
		}
		if err := deliveries.Put(tx, d.Event, d); err != nil {
			return r, false, err
		}
	}
	return r, true, nil
}

// See records that the owner has seen the end, and consumes the delivery unless
// the message may have been typed.
func (Store) See(tx *store.Tx, id string, now time.Time) (Record, error) {
	r, ok, err := records.Get(tx, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil || !r.Status.Ended() {
		return r, err
	}
	d, ok, err := deliveries.Get(tx, r.EventID())
	if err != nil {
		return r, err
	}
	if ok && !d.Always {
		if d.Consume(now) == nil {
			if err := finish(tx, d); err != nil {
				return r, err
			}
		}
	}
	if r.Seen.IsZero() {
		r.Seen = now
		err = records.Put(tx, id, r)
	}
	return r, err
}

// finish moves a delivery that became final.
func finish(tx *store.Tx, d Delivery) error {
	if err := deliveries.Delete(tx, d.Event); err != nil {
		return err
	}
	return finished.Put(tx, d.Event, d)
}

// put writes a delivery to its bucket.
func put(tx *store.Tx, d Delivery) error {
	if d.State.Final() {
		return finish(tx, d)
	}
	return deliveries.Put(tx, d.Event, d)
}

// Step applies a transition to several deliveries and returns those that it
// fitted. The others stay as they are.
func (Store) Step(tx *store.Tx, ids []string, f func(*Delivery) error) (done []Delivery, err error) {
	for _, id := range ids {
		d, ok, err := deliveries.Get(tx, id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if f(&d) != nil {
			continue
		}
		if err := put(tx, d); err != nil {
			return nil, err
		}
		done = append(done, d)
	}
	return done, nil
}

// Open returns the deliveries that are not final, oldest first.
func (Store) Open(tx *store.Tx) ([]Delivery, error) { return all(tx, deliveries) }

// Finished returns the final deliveries that are still kept, oldest first.
func (Store) Finished(tx *store.Tx) ([]Delivery, error) { return all(tx, finished) }

func all(tx *store.Tx, b store.Bucket[Delivery]) ([]Delivery, error) {
	var out []Delivery
	err := b.Each(tx, "", func(_ string, d Delivery) error {
		out = append(out, d)
		return nil
	})
	slices.SortStableFunc(out, func(a, b Delivery) int { return a.Created.Compare(b.Created) })
	return out, err
}

// Records returns every record, oldest first: ids sort by age.
func (Store) Records(tx *store.Tx) ([]Record, error) {
	var out []Record
	err := records.Each(tx, "", func(_ string, r Record) error {
		out = append(out, r)
		return nil
	})
	return out, err
}

// Event returns the event of an end.
func (Store) Event(tx *store.Tx, id string) (Event, bool, error) { return events.Get(tx, id) }

// Remove deletes a command with its event and delivery; ErrRunning before its
// end.
func (Store) Remove(tx *store.Tx, id string) error {
	r, ok, err := records.Get(tx, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err == nil && !r.Status.Ended() {
		err = fmt.Errorf("%w: %s", ErrRunning, id)
	}
	if err != nil {
		return err
	}
	return drop(tx, r)
}

// Cancel deletes a record whose process never started.
func (Store) Cancel(tx *store.Tx, id string) error {
	r, ok, err := records.Get(tx, id)
	if err != nil || !ok {
		return err
	}
	return drop(tx, r)
}

func drop(tx *store.Tx, r Record) error {
	if r.Key != "" {
		if id, ok, err := keys.Get(tx, owned(r.Owner, r.Key)); err != nil {
			return err
		} else if ok && id == r.ID {
			if err := keys.Delete(tx, owned(r.Owner, r.Key)); err != nil {
				return err
			}
		}
	}
	if err := running.Delete(tx, owned(r.Owner, r.ID)); err != nil {
		return err
	}
	for _, b := range []interface {
		Delete(*store.Tx, string) error
	}{events, deliveries, finished} {
		if err := b.Delete(tx, r.EventID()); err != nil {
			return err
		}
	}
	return records.Delete(tx, r.ID)
}

// Delivery returns the delivery of an event, open or final.
func (Store) Delivery(tx *store.Tx, event string) (Delivery, bool, error) {
	d, ok, err := deliveries.Get(tx, event)
	if err != nil || ok {
		return d, ok, err
	}
	return finished.Get(tx, event)
}

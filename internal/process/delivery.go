package process

import (
	"fmt"
	"time"
)

// DeliveryState is how far the waking of an owner came.
type DeliveryState string

// The states: pending → leased → injecting → delivered, and consumed or dead
// instead. The last three are final.
const (
	Pending   DeliveryState = "pending"
	Leased    DeliveryState = "leased"    // somebody is about to deliver it
	Injecting DeliveryState = "injecting" // it may have been typed
	Delivered DeliveryState = "delivered"
	Consumed  DeliveryState = "consumed" // the owner saw the end by itself
	Dead      DeliveryState = "dead"     // given up; Detail says why
)

// Final reports whether nothing changes any more.
func (s DeliveryState) Final() bool { return s == Delivered || s == Consumed || s == Dead }

// Times of deliveries.
const (
	LeaseTime  = 30 * time.Second
	FirstPause = time.Second // after a failed try, doubled
	MaxPause   = time.Minute // at most
	DeadAfter  = 24 * time.Hour
	MaxBatch   = 10 // completions in one message
)

// Delivery is one end on its way to its owner. Its route is the owner's name
// on a node ("" is this one).
type Delivery struct {
	Event   string        `json:"eventId"`
	Session string        `json:"sessionId"`
	Node    string        `json:"node,omitempty"`
	Owner   string        `json:"owner"`
	Always  bool          `json:"always,omitempty"` // the owner's own look does not count
	State   DeliveryState `json:"state"`
	Batch   string        `json:"batch,omitempty"` // the message that carries it
	By      string        `json:"by,omitempty"`    // injecting: who types it; "": the multiplexer itself
	Tries   int           `json:"tries"`
	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
	Next    time.Time     `json:"next,omitzero"`
	Lease   time.Time     `json:"lease,omitzero"`
	Detail  string        `json:"detail,omitempty"`
}

// Due reports whether the delivery can be leased now. A time that lies further
// ahead than it can have been set is that of a clock that was put back, and
// does not count.
func (d *Delivery) Due(now time.Time) bool {
	switch d.State {
	case Pending:
		return !ahead(d.Next, now, MaxPause)
	case Leased:
		return !ahead(d.Lease, now, LeaseTime)
	}
	return false
}

func ahead(t, now time.Time, most time.Duration) bool {
	d := t.Sub(now)
	return !t.IsZero() && d > 0 && d <= most
}

// Expired reports whether it waited so long that it is given up: for its owner,
// or for somebody else to say what became of it.
func (d *Delivery) Expired(now time.Time) bool {
	waits := d.State == Pending || d.State == Injecting && d.By != ""
	return waits && now.Sub(d.Created) >= DeadAfter
}

func (d Delivery) to(s DeliveryState, now time.Time, detail string) Delivery {
	d.State, d.Updated, d.Detail = s, now, detail
	d.Next, d.Lease = time.Time{}, time.Time{}
	return d
}

func (d *Delivery) refuse(verb string) error {
	return fmt.Errorf("%w: %s a delivery that is %s", ErrState, verb, d.State)
}

// Acquire leases it for LeaseTime; ErrState unless it is due.
func (d Delivery) Acquire(now time.Time) (Delivery, error) {
	if !d.Due(now) {
		return d, d.refuse("lease")
	}
	d = d.to(Leased, now, "")
	d.Tries++
	d.Lease = now.Add(LeaseTime)
	return d, nil
}

// Inject notes that it is about to be typed, as part of a message, by somebody
// outside of the multiplexer unless by is ""; ErrState unless it is leased.
func (d Delivery) Inject(batch, by string, now time.Time) (Delivery, error) {
	if d.State != Leased {
		return d, d.refuse("inject")
	}
	d = d.to(Injecting, now, "")
	d.Batch, d.By = batch, by
	return d, nil
}

// Deliver notes that it was submitted; ErrState unless it was injected.
func (d Delivery) Deliver(now time.Time, detail string) (Delivery, error) {
	if d.State != Injecting {
		return d, d.refuse("deliver")
	}
	return d.to(Delivered, now, detail), nil
}

// Retry puts it back, later each time; ErrState for a final one.
func (d Delivery) Retry(now time.Time, why string) (Delivery, error) {
	if d.State != Leased && d.State != Injecting {
		return d, d.refuse("retry")
	}
	d = d.to(Pending, now, why)
	d.Batch, d.By = "", ""
	d.Next = now.Add(min(FirstPause<<min(max(d.Tries-1, 0), 10), MaxPause))
	return d, nil
}

// Consume notes that the owner saw the end by itself. ErrState once it may have
// been typed: then the message wins.
func (d Delivery) Consume(now time.Time) (Delivery, error) {
	if d.State != Pending && d.State != Leased {
		return d, d.refuse("consume")
	}
	return d.to(Consumed, now, ""), nil
}

// GiveUp makes it a dead letter; ErrState for a final one.
func (d Delivery) GiveUp(now time.Time, why string) (Delivery, error) {
	if d.State.Final() {
		return d, d.refuse("give up")
	}
	return d.to(Dead, now, why), nil
}

// Recover is the state after a crash of who held the lease. What may have been
// typed stays: it is looked for.
func (d Delivery) Recover(now time.Time) Delivery {
	if d.State == Leased {
		return d.to(Pending, now, d.Detail)
	}
	return d
}

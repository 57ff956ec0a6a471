package process

import (
	"time"

	"gascity.dev/gc/internal/delivery"
)

// DeliveryState is how far the report of a command's end has come.
type DeliveryState = delivery.State

// The states that the delivery of an end can have.
const (
	Pending   = delivery.Pending
	Leased    = delivery.Leased
	Injecting = delivery.Injecting
	Delivered = delivery.Delivered
	Consumed  = delivery.Consumed
	Dead      = delivery.Dead
)

// MaxBatch is the maximum number of ends in one message.
const MaxBatch = 10

// Policy holds the times of deliveries.
var Policy = delivery.Policy{Lease: 30 * time.Second, FirstPause: time.Second, MaxPause: time.Minute, Lifetime: 24 * time.Hour}

// Delivery is the report of one end to the command's owner. Its route is the
// owner's name on a node ("" is this one).
type Delivery struct {
	Event   string `json:"eventId"`
	Session string `json:"sessionId"`
	Node    string `json:"node,omitempty"`
	Owner   string `json:"owner"`
	Always  bool   `json:"always,omitempty"` // also when the owner has seen the end
	delivery.Progress
}

// Due reports whether the delivery can be leased now.
func (d *Delivery) Due(now time.Time) bool { return d.Progress.Due(Policy, now) }

// Expired reports whether the delivery has waited too long.
func (d *Delivery) Expired(now time.Time) bool { return d.Progress.Expired(Policy, now) }

// Acquire leases the delivery for one try; ErrState unless it is due.
func (d *Delivery) Acquire(now time.Time) error { return d.Progress.Acquire(Policy, now) }

// Retry puts the delivery back for a later try; ErrState unless a try is under way.
func (d *Delivery) Retry(now time.Time, why string) error { return d.Progress.Retry(Policy, now, why) }

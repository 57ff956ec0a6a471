package api

import (
	"time"
)

// Policies of a queued message.
const (
	PolicyImmediate = "immediate" // as soon as the session exists, ready or not
	PolicyWaitIdle  = "wait-idle" // when the program is known to be idle
)

// States of a queued message.
const (
	QueueWaiting   = "waiting"
	QueueLeased    = "leased"    // being delivered
	QueueDelivered = "delivered" // kept for an hour
	QueueDead      = "dead"      // given up, see Receipt and Detail; kept until it is removed
)

// QueueRequest is a message to queue.
type QueueRequest struct {
	Target  string        `json:"target"`              // session name
	Session string        `json:"sessionId,omitempty"` // only this incarnation; empty: any of the name
	Text    string        `json:"text"`                // at most 1 MiB
	Policy  string        `json:"policy,omitempty"`    // empty: PolicyWaitIdle
	TTL     time.Duration `json:"ttl,omitempty"`       // in ns; 0: 24 h
	Raw     bool          `json:"raw,omitempty"`       // as in NudgeRequest
}

// QueueItem is a message in the queue.
type QueueItem struct {
	QueueRequest
	ID      string    `json:"id"`
	State   string    `json:"state"`
	Tries   int       `json:"tries"` // after 50 it is dead
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Next    time.Time `json:"next,omitzero"`  // no try before this time
	Lease   time.Time `json:"lease,omitzero"` // end of the present delivery's lease
	Done    time.Time `json:"done,omitzero"`
	Receipt *Receipt  `json:"receipt,omitempty"` // of the last try
	Detail  string    `json:"detail,omitempty"`  // why it waits, or was given up
}

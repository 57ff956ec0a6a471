package mux

import (
	"context"
	"net/url"
	"time"
)

// Policies of a queued message.
const (
	PolicyImmediate = "immediate" // as soon as the session is there, ready or not
	PolicyWaitIdle  = "wait-idle" // when the program is known to be idle
)

// States of a queued message.
const (
	QueueWaiting   = "waiting"
	QueueLeased    = "leased" // being delivered
	QueueDelivered = "delivered"
	QueueDead      = "dead" // given up; kept until it is removed, Receipt and Detail say why
)

// QueueRequest is a message that waits for its session.
type QueueRequest struct {
	Target  string        `json:"target"`              // session name
	Session string        `json:"sessionId,omitempty"` // only this incarnation; empty: any of the name
	Text    string        `json:"text"`
	Policy  string        `json:"policy,omitempty"` // empty: PolicyWaitIdle
	TTL     time.Duration `json:"ttl,omitempty"`    // in ns; 0: 24 h
	Raw     bool          `json:"raw,omitempty"`    // as in NudgeRequest
}

// QueueItem is a message in the queue.
type QueueItem struct {
	QueueRequest
	ID      string    `json:"id"`
	State   string    `json:"state"`
	Tries   int       `json:"tries"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Next    time.Time `json:"next,omitzero"`  // not tried before
	Lease   time.Time `json:"lease,omitzero"` // of a delivery under way
	Done    time.Time `json:"done,omitzero"`
	Receipt *Receipt  `json:"receipt,omitempty"` // of the last try
	Detail  string    `json:"detail,omitempty"`  // why it waits, or was given up
}

// Enqueue puts a message into the queue; it is durable when Enqueue returns.
// Messages for one session are delivered in the order they came.
func (c *Client) Enqueue(ctx context.Context, r QueueRequest) (QueueItem, error) {
	var out QueueItem
	err := c.call(ctx, "POST", "/v1/queue", r, &out)
	return out, err
}

// Queue lists the messages for a session name, oldest first; "" is all.
func (c *Client) Queue(ctx context.Context, target string) ([]QueueItem, error) {
	var out struct {
		Items []QueueItem `json:"items"`
	}
	err := c.call(ctx, "GET", "/v1/queue?target="+url.QueryEscape(target), nil, &out)
	return out.Items, err
}

// AwaitQueued returns a message when it was delivered or given up, also across
// a restart of the server. ErrNoMessage when it is not there, or was removed
// meanwhile.
func (c *Client) AwaitQueued(ctx context.Context, id string) (QueueItem, error) {
	for {
		var out QueueItem
		err := c.across(ctx, func() error {
			return c.call(ctx, "GET", "/v1/queue/"+url.PathEscape(id)+"?wait="+queueWait.String(), nil, &out)
		})
		if err != nil || out.State == QueueDelivered || out.State == QueueDead {
			return out, err
		}
	}
}

// queueWait is how long one request of AwaitQueued lasts.
const queueWait = time.Hour

// Dequeue removes a message; nil when it is not there. One that is being
// delivered may still arrive.
func (c *Client) Dequeue(ctx context.Context, id string) error {
	return c.call(ctx, "DELETE", "/v1/queue/"+url.PathEscape(id), nil, nil)
}

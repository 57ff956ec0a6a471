package client

import (
	"context"
	"net/url"
	"time"

	"gascity.dev/gc/mux/api"
)

// Enqueue queues a message for a session that need not exist yet; it is on disk when
// Enqueue returns. Messages for one session are delivered in order. ErrBadName,
// ErrRequest for an unknown policy, ErrTooLarge for a text of more than 1 MiB or with
// 10,000 messages in the queue.
func (c *Client) Enqueue(ctx context.Context, r api.QueueRequest) (api.QueueItem, error) {
	var out api.QueueItem
	err := c.call(ctx, "POST", "/v1/queue", r, &out)
	return out, err
}

// Queue lists the messages for a session name, oldest first; "" means all.
func (c *Client) Queue(ctx context.Context, target string) ([]api.QueueItem, error) {
	var out struct {
		Items []api.QueueItem `json:"items"`
	}
	err := c.call(ctx, "GET", "/v1/queue?target="+url.QueryEscape(target), nil, &out)
	return out.Items, err
}

// AwaitQueued waits until a message is delivered or given up, even across a restart of
// the server. ErrNoMessage if it does not exist or is removed meanwhile.
func (c *Client) AwaitQueued(ctx context.Context, id string) (api.QueueItem, error) {
	for {
		var out api.QueueItem
		err := c.across(ctx, func() error {
			return c.call(ctx, "GET", "/v1/queue/"+url.PathEscape(id)+"?wait="+queueWait.String(), nil, &out)
		})
		if err != nil || out.State == api.QueueDelivered || out.State == api.QueueDead {
			return out, err
		}
	}
}

// queueWait is the length of one request of AwaitQueued.
const queueWait = time.Hour

// Dequeue removes a message; nil if it does not exist. One that is being delivered may
// still arrive.
func (c *Client) Dequeue(ctx context.Context, id string) error {
	return c.call(ctx, "DELETE", "/v1/queue/"+url.PathEscape(id), nil, nil)
}

package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"gascity.dev/gc/internal/session"
)

// Queue queues a nudge for an agent; it is on disk when Queue returns.
func (c *Client) Queue(ctx context.Context, q QueueRequest) (session.Nudge, error) {
	var n session.Nudge
	err := c.call(ctx, http.MethodPost, "/v1/nudges", q, &n)
	return n, err
}

// Nudges returns the queue in order, including nudges that were delivered or
// given up recently.
func (c *Client) Nudges(ctx context.Context) ([]session.Nudge, error) {
	var list []session.Nudge
	err := c.call(ctx, http.MethodGet, "/v1/nudges", nil, &list)
	return list, err
}

// errEnded ends the subscription of AwaitNudge.
var errEnded = errors.New("the message is no longer waiting")

// AwaitNudge waits until the message is delivered or given up, and returns it as
// it is then. It looks again at every event after seq about the agent's messages.
// When ctx ends first, it returns the message as it is and the context's error.
func (c *Client) AwaitNudge(ctx context.Context, n session.Nudge, seq uint64) (session.Nudge, error) {
	look := func() error {
		list, err := c.Nudges(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(one session.Nudge) bool { return one.ID == n.ID })
		if i < 0 {
			return Hinted("gc nudge list", "the message was dropped from the queue")
		}
		if n = list[i]; n.Ended.IsZero() {
			return nil
		}
		return errEnded
	}
	err := c.Events(ctx, seq, true, func(e Event) error {
		if e.Kind != EventNudge || e.Agent != n.Agent {
			return nil
		}
		return look()
	})
	if ctx.Err() != nil && !errors.Is(err, errEnded) {
		if err = look(); err == nil {
			err = ctx.Err()
		}
	}
	switch {
	case errors.Is(err, errEnded):
		return n, nil
	case err == nil: // the events ended, as did the controller
		err = Hinted("gc start delivers it; gc nudge list shows it", "%w: the message is still queued", ErrNoController)
	}
	return n, err
}

// DropNudge forgets a nudge.
func (c *Client) DropNudge(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/nudges/"+id, nil, nil)
}

// StoreWait stores a wait; it is on disk when StoreWait returns, and survives
// restarts.
func (c *Client) StoreWait(ctx context.Context, q WaitRequest) (session.Wait, error) {
	var w session.Wait
	err := c.call(ctx, http.MethodPost, "/v1/waits", q, &w)
	return w, err
}

// Waits returns the stored waits that are not met yet.
func (c *Client) Waits(ctx context.Context) ([]session.Wait, error) {
	var list []session.Wait
	err := c.call(ctx, http.MethodGet, "/v1/waits", nil, &list)
	return list, err
}

// DropWait forgets a wait.
func (c *Client) DropWait(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/waits/"+id, nil, nil)
}

package api

import (
	"context"
	"net/http"

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

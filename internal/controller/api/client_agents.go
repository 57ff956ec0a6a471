package api

import (
	"context"
	"net/http"
)

// Suspend takes agents and pools out of the city until Resume, also over gc
// stop; without names the whole city. Running agents are drained; Suspend
// returns when the wish is on disk.
func (c *Client) Suspend(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/suspend", names{agents}, nil)
}

// Resume undoes Suspend of the same names, and StopAgents and Drain; without
// names Suspend of the city.
func (c *Client) Resume(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/resume", names{agents}, nil)
}

// SuspendRigs is Suspend for the agents of rigs, also of those that come.
func (c *Client) SuspendRigs(ctx context.Context, rigs ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/rigs/suspend", names{rigs}, nil)
}

// ResumeRigs undoes SuspendRigs.
func (c *Client) ResumeRigs(ctx context.Context, rigs ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/rigs/resume", names{rigs}, nil)
}

// Drain asks agents to end by themselves, ends them when they agreed or took
// too long, and keeps them down until Restart, Resume, Undrain or the next gc
// start.
func (c *Client) Drain(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/drain", names{agents}, nil)
}

// Undrain takes Drain back: a drain that is not over is cancelled.
func (c *Client) Undrain(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/undrain", names{agents}, nil)
}

// DrainSelf is Drain of the asking agent. ErrEarlierInstance when the token is
// not that of the running instance.
func (c *Client) DrainSelf(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/drain", q, nil)
}

// AckDrain says that the asking agent may be ended now. ErrNotDraining when
// nobody asked it to end; ErrEarlierInstance as above.
func (c *Client) AckDrain(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/drain-ack", q, nil)
}

// RequestRestart asks to be ended and started afresh, which counts against no
// budget. It returns when the wish is written down; the caller ends soon.
func (c *Client) RequestRestart(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/request-restart", q, nil)
}

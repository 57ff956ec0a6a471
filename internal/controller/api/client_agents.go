package api

import (
	"context"
	"net/http"
)

// Suspend suspends agents and pools until Resume, even across gc stop; without
// names the whole city. Running agents are drained. Suspend returns when it is
// on disk.
func (c *Client) Suspend(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/suspend", names{agents}, nil)
}

// Resume undoes Suspend of the same names, and StopAgents and Drain; without
// names it undoes Suspend of the city.
func (c *Client) Resume(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/resume", names{agents}, nil)
}

// SuspendRigs is Suspend for the agents of rigs, including future ones.
func (c *Client) SuspendRigs(ctx context.Context, rigs ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/rigs/suspend", names{rigs}, nil)
}

// ResumeRigs undoes SuspendRigs.
func (c *Client) ResumeRigs(ctx context.Context, rigs ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/rigs/resume", names{rigs}, nil)
}

// Drain asks agents to end by themselves, ends them when they agree or take too
// long, and keeps them down until Restart, Resume, Undrain or the next gc start.
func (c *Client) Drain(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/drain", names{agents}, nil)
}

// Undrain undoes Drain. A drain in progress is cancelled.
func (c *Client) Undrain(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/undrain", names{agents}, nil)
}

// CarryConversation says that an agent's conversation was copied to where it runs next.
// It fails if the agent would not resume that one.
func (c *Client) CarryConversation(ctx context.Context, q CarriedConversation) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/conversation", q, nil)
}

// DrainSelf is Drain for the asking agent; ErrEarlierInstance if the token is
// not that of the running instance.
func (c *Client) DrainSelf(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/drain", q, nil)
}

// AckDrain says that the asking agent may be ended now; ErrNotDraining if it was
// not asked to end, ErrEarlierInstance as for DrainSelf.
func (c *Client) AckDrain(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/drain-ack", q, nil)
}

// RequestRestart asks to be restarted, which does not count against the restart
// budget. It returns when the request is recorded; the caller's session ends
// soon after.
func (c *Client) RequestRestart(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/request-restart", q, nil)
}

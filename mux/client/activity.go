package client

import (
	"context"

	"gascity.dev/gc/mux/api"
)

// Activity returns what the program of a session is doing, from evidence only;
// ActivityUnknown without any. It replies within 250 ms of output. ErrNotFound if the
// session does not exist.
func (c *Client) Activity(ctx context.Context, name string) (api.Activity, error) {
	var out api.Activity
	err := c.call(ctx, "GET", sessionPath(name, "/activity"), nil, &out)
	return out, err
}

// Question is Activity, but waits up to a second for the options of a question that
// the program has just reported.
func (c *Client) Question(ctx context.Context, name string) (api.Activity, error) {
	var out api.Activity
	err := c.call(ctx, "GET", sessionPath(name, "/activity?question=1"), nil, &out)
	return out, err
}

// Report says what the agent of the session is doing that this process runs in.
// ErrNotInside if it runs in none; ErrExited if that session has ended.
func (c *Client) Report(ctx context.Context, r api.ReportRequest) (api.ReportResult, error) {
	var out api.ReportResult
	err := c.call(ctx, "POST", "/v1/report", r, &out)
	return out, err
}

// Seen notes that a person has seen the program's work: ActivityDone becomes
// ActivityIdle. ErrExited if it has ended.
func (c *Client) Seen(ctx context.Context, name string) error {
	return c.call(ctx, "POST", sessionPath(name, "/seen"), nil, nil)
}

// Respond answers the question on the session's screen: it moves the selection to the
// option with the label, confirms it, and returns once the question is gone.
// ErrQuestion if it confirmed nothing: there is no question, another one, no such
// option, or the selection did not follow the keys. With r.AnswerID it is asked again if
// the server dies.
func (c *Client) Respond(ctx context.Context, name string, r api.RespondRequest) error {
	ask := func() error { return c.call(ctx, "POST", sessionPath(name, "/respond"), r, nil) }
	if r.AnswerID == "" {
		return ask()
	}
	return c.across(ctx, ask)
}

package client

import (
	"context"

	"gascity.dev/gc/mux/api"
)

// Activity says what the program of a session is doing, from evidence only;
// without any it is ActivityUnknown. It answers within 250 ms of output.
// ErrNotFound without a session.
func (c *Client) Activity(ctx context.Context, name string) (api.Activity, error) {
	var out api.Activity
	err := c.call(ctx, "GET", sessionPath(name, "/activity"), nil, &out)
	return out, err
}

// Question is Activity, but waits up to a second for the options of a question
// that the program has just said it asks.
func (c *Client) Question(ctx context.Context, name string) (api.Activity, error) {
	var out api.Activity
	err := c.call(ctx, "GET", sessionPath(name, "/activity?question=1"), nil, &out)
	return out, err
}

// Seen says that a person has seen what the program has done: ActivityDone
// becomes ActivityIdle. ErrExited after its end.
func (c *Client) Seen(ctx context.Context, name string) error {
	return c.call(ctx, "POST", sessionPath(name, "/seen"), nil, nil)
}

// Respond answers the question that stands on the session's screen: the option
// with the label is selected step by step and confirmed while it is the
// selected one, and the question is seen to be gone. ErrQuestion: nothing was
// confirmed, as another question stands, or none, or it has no such option, or
// its selection did not follow the keys.
func (c *Client) Respond(ctx context.Context, name string, r api.RespondRequest) error {
	return c.call(ctx, "POST", sessionPath(name, "/respond"), r, nil)
}

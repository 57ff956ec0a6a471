package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
)

// watched is the list that the server keeps for a client.
type watched struct {
	mu       sync.Mutex
	token    string
	requests []api.PeekRequest
	results  []api.PeekResult // all unchanged
}

// peekAgain requests a list by its token. ErrTooOld: the server no longer keeps it, or
// is an older one, whose results for a token may be ids.
func (c *Client) peekAgain(ctx context.Context, token string, rs []api.PeekRequest) ([]api.PeekResult, error) {
	var out struct {
		api.PeekReply
		api.PeekUnchanged
	}
	err := c.call(ctx, "POST", "/v1/peek", api.PeekList{Watch: token}, &out)
	switch {
	case errors.As(err, new(*json.UnmarshalTypeError)):
		return nil, api.ErrTooOld
	case err != nil:
		return nil, err
	case out.Unchanged:
		return c.watched.nothing(token)
	}
	return out.Results, checkResults(out.Results, rs)
}

// Peek returns what a session shows, also after its exit, while it is kept.
func (c *Client) Peek(ctx context.Context, r api.PeekRequest) (api.PeekResult, error) {
	var out struct {
		api.PeekResult
		Screen json.RawMessage `json:"screen"` // reflecting on its type costs encoding/json 0.1 ms
	}
	err := c.call(ctx, "POST", sessionPath(r.Name, "/peek"), r, &out)
	if err == nil && out.Screen != nil {
		if err = json.Unmarshal(out.Screen, &out.PeekResult.Screen); err != nil {
			err = fmt.Errorf("%w: %w", api.ErrUnreachable, err)
		}
	}
	return out.PeekResult, err
}

// PeekMany makes up to 4096 requests (ErrTooLarge) at once; results are in their order. A session
// that does not exist has Error set; the call itself fails only if the server does. The
// server remembers a list in which nothing changed since IfRevision, so that repeating
// it is cheapest.
func (c *Client) PeekMany(ctx context.Context, rs []api.PeekRequest) ([]api.PeekResult, error) {
	if token := c.watched.of(rs); token != "" {
		if out, err := c.peekAgain(ctx, token, rs); !errors.Is(err, api.ErrTooOld) {
			return out, err
		}
	}
	keep := slices.ContainsFunc(rs, func(r api.PeekRequest) bool { return r.IfRevision != 0 })
	var out api.PeekReply
	if err := c.call(ctx, "POST", "/v1/peek", api.PeekList{Requests: rs, Keep: keep}, &out); err != nil {
		return nil, err
	}
	if err := checkResults(out.Results, rs); err != nil {
		return nil, err
	}
	if out.Watch != "" {
		c.watched.keep(out.Watch, rs, out.Results)
	}
	return out.Results, nil
}

// AwaitNews makes up to 4096 requests, each with IfRevision, once one of them has
// something new, or after the time. It is one request, however many sessions there are, even
// across a restart of the server.
func (c *Client) AwaitNews(ctx context.Context, rs []api.PeekRequest, most time.Duration) ([]api.PeekResult, error) {
	var out api.PeekReply
	err := c.across(ctx, func() error {
		return c.call(ctx, "POST", "/v1/peek", api.PeekList{Requests: rs, Wait: most}, &out)
	})
	if err != nil {
		return nil, err
	}
	return out.Results, checkResults(out.Results, rs)
}

// checkResults returns an error unless there is one result for each request.
func checkResults(out []api.PeekResult, rs []api.PeekRequest) error {
	if len(out) != len(rs) {
		return fmt.Errorf("%w: %d results for %d requests", api.ErrUnreachable, len(out), len(rs))
	}
	return nil
}

// keep remembers a list and its token.
func (w *watched) keep(token string, requests []api.PeekRequest, results []api.PeekResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.token, w.requests, w.results = token, slices.Clone(requests), slices.Clone(results)
}

// nothing returns the results of an unchanged list; ErrTooOld if the list has been
// replaced.
func (w *watched) nothing(token string) ([]api.PeekResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.token != token {
		return nil, api.ErrTooOld
	}
	return slices.Clone(w.results), nil
}

// of returns the token for exactly these requests, or "".
func (w *watched) of(requests []api.PeekRequest) (token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.token != "" && slices.Equal(w.requests, requests) {
		return w.token
	}
	return ""
}

// History reads lines of a session's history, or looks for one. ErrRequest if the server is
// too old to know the request.
func (c *Client) History(ctx context.Context, name string, r api.HistoryRequest) (api.HistoryResult, error) {
	var out api.HistoryResult
	err := c.call(ctx, "POST", sessionPath(name, "/history"), r, &out)
	return out, err
}

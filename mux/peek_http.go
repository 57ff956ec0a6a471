package mux

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"gascity.dev/gc/mux/api"
)

func handlePeek(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.PeekRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return s.peek(in)
}

// peekList is the body of a request for many.
type peekList struct {
	Requests []api.PeekRequest `json:"requests,omitempty"`
	Keep     bool              `json:"keep,omitempty"`
	Watch    string            `json:"watch,omitempty"` // the token of a list, instead of Requests
}

// peekReply is the reply to a peekList.
type peekReply struct {
	Results []api.PeekResult `json:"results"`
	Watch   string           `json:"watch,omitempty"`
}

// peekUnchanged is the reply to a token for a list that has nothing new.
type peekUnchanged struct {
	Unchanged bool `json:"unchanged"`
}

func (srv *server) handlePeekMany(w http.ResponseWriter, r *http.Request) (any, error) {
	var in peekList
	err := readJSON(w, r, &in)
	if err != nil {
		return nil, err
	}
	if len(in.Requests) > maxPeeks {
		return nil, fmt.Errorf("%w: %d peeks, at most %d", api.ErrTooLarge, len(in.Requests), maxPeeks)
	}
	if in.Watch != "" {
		if in.Requests, err = srv.watch(in.Watch); err != nil {
			return nil, err
		}
		if len(in.Requests) == 0 {
			return peekUnchanged{true}, nil
		}
	}
	out := peekReply{Results: make([]api.PeekResult, len(in.Requests))}
	for i, one := range in.Requests {
		out.Results[i] = srv.peekOne(one)
	}
	if in.Keep && len(in.Requests) > 0 && srv.allSame(in.Requests) {
		out.Watch = srv.watches.keep(in.Requests)
	}
	return out, nil
}

// peekOne is the result of one of many requests; that of a session that does not
// exist has Error set.
func (srv *server) peekOne(r api.PeekRequest) api.PeekResult {
	s, err := srv.find(r.Name)
	var out api.PeekResult
	if err == nil {
		out, err = s.peek(r)
	}
	if err != nil {
		return api.PeekResult{Name: r.Name, Error: api.Remote(err)}
	}
	return out
}

// Peek returns what a session shows; an exited one answers while it is kept.
func (c *Client) Peek(ctx context.Context, r api.PeekRequest) (api.PeekResult, error) {
	var out api.PeekResult
	err := c.call(ctx, "POST", sessionPath(r.Name, "/peek"), r, &out)
	return out, err
}

// PeekMany answers up to 4096 requests at once, in their order. A session that does
// not exist has Error set; the call itself fails only when the server does. A list
// in which nothing changed since IfRevision is remembered by the server: asking for
// it again costs the least.
func (c *Client) PeekMany(ctx context.Context, rs []api.PeekRequest) ([]api.PeekResult, error) {
	if token := c.watched.of(rs); token != "" {
		if out, err := c.peekAgain(ctx, token, rs); !errors.Is(err, api.ErrTooOld) {
			return out, err
		}
	}
	keep := slices.ContainsFunc(rs, func(r api.PeekRequest) bool { return r.IfRevision != 0 })
	var out peekReply
	if err := c.call(ctx, "POST", "/v1/peek", peekList{Requests: rs, Keep: keep}, &out); err != nil {
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

// checkResults returns an error unless there is one result for each request.
func checkResults(out []api.PeekResult, rs []api.PeekRequest) error {
	if len(out) != len(rs) {
		return fmt.Errorf("%w: %d results for %d requests", api.ErrUnreachable, len(out), len(rs))
	}
	return nil
}

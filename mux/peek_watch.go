package mux

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gascity.dev/gc/mux/api"
)

// Bounds of what a server remembers of lists that clients look at.
const (
	watchLists = 16
	watchMost  = 1024 // requests of one
)

// watches are lists of requests that had nothing new, so that whoever comes
// again for all of one need not send it. They are forgotten with the server, or
// when there are newer ones.
type watches struct {
	mu    sync.Mutex
	lists []*watchList // oldest first
}

type watchList struct {
	token    string
	requests []api.PeekRequest
	changes  atomic.Uint64 // of the server, when nothing in the list was new
}

// keep remembers a list and returns its token; "" for one that is too long.
func (w *watches) keep(requests []api.PeekRequest) string {
	if len(requests) > watchMost {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.lists) - watchLists + 1; n > 0 {
		w.lists = slices.Delete(w.lists, 0, n)
	}
	token := rand.Text()
	w.lists = append(w.lists, &watchList{token: token, requests: requests})
	return token
}

// list returns a list that is kept.
func (w *watches) list(token string) (*watchList, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lists {
		if l.token == token {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%w: watch %q", api.ErrTooOld, token)
}

// watch returns the requests of a list that is kept, none when nothing in it is
// new. While no session changes, none is looked at.
func (srv *server) watch(token string) ([]api.PeekRequest, error) {
	l, err := srv.watches.list(token)
	if err != nil {
		return nil, err
	}
	changes := srv.changes.Load() // first: what comes meanwhile is new next time
	if l.changes.Load() == changes {
		return nil, nil
	}
	if !srv.allSame(l.requests) {
		return l.requests, nil
	}
	l.changes.Store(changes)
	return nil, nil
}

// allSame reports whether no session has anything new.
func (srv *server) allSame(requests []api.PeekRequest) bool {
	found := make([]*session, len(requests))
	srv.mu.Lock()
	for i := range requests {
		found[i] = srv.live[requests[i].Name]
	}
	srv.mu.Unlock()
	for i, s := range found {
		if s == nil || !s.same(&requests[i]) {
			return false
		}
	}
	return true
}

// watched is the list that a client's server keeps for it.
type watched struct {
	mu       sync.Mutex
	token    string
	requests []api.PeekRequest
	results  []api.PeekResult // none of them has anything new
}

// of returns the token for exactly these requests; "" when there is none.
func (w *watched) of(requests []api.PeekRequest) (token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.token != "" && slices.Equal(w.requests, requests) {
		return w.token
	}
	return ""
}

// nothing returns the results for a list that has nothing new. ErrTooOld: there is
// another list by now.
func (w *watched) nothing(token string) ([]api.PeekResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.token != token {
		return nil, api.ErrTooOld
	}
	return slices.Clone(w.results), nil
}

// keep remembers what a list has a token for.
func (w *watched) keep(token string, requests []api.PeekRequest, results []api.PeekResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.token, w.requests, w.results = token, slices.Clone(requests), slices.Clone(results)
}

// peekAgain asks for a list by its token. ErrTooOld: the server does not keep it any
// more, or is an older one, whose results for a token may be ids.
func (c *Client) peekAgain(ctx context.Context, token string, rs []api.PeekRequest) ([]api.PeekResult, error) {
	var out struct {
		peekReply
		peekUnchanged
	}
	err := c.call(ctx, "POST", "/v1/peek", peekList{Watch: token}, &out)
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

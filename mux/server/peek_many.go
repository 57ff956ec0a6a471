package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// Bounds of the lists that a server remembers.
const (
	watchLists = 16
	watchMost  = 1024 // requests of a list
)

// watches are lists of requests whose sessions were all unchanged. A client requests
// such a list again by its token. Newer lists replace older ones, and none survives
// the server.
type watches struct {
	mu    sync.Mutex
	lists []*watchList // oldest first
}

type watchList struct {
	token    string
	requests []api.PeekRequest
	changes  atomic.Uint64 // eventFeed.changes when nothing in the list was new
}

// keep remembers a list and returns its token; "" if it is too long.
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

// list returns the list of a token; ErrTooOld if it is not kept.
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

// watch returns the requests of a list; none if nothing in it is new. While no session of
// the server changes, it examines none.
func (a *apiServer) watch(token string) ([]api.PeekRequest, error) {
	l, err := a.watches.list(token)
	if err != nil {
		return nil, err
	}
	changes := a.srv.events.changes.Load() // first: what changes later is new next time
	if l.changes.Load() == changes {
		return nil, nil
	}
	if !a.srv.sessions.allSame(l.requests) {
		return l.requests, nil
	}
	l.changes.Store(changes)
	return nil, nil
}

// allSame reports whether no session has anything new.
func (t *sessionTable) allSame(requests []api.PeekRequest) bool {
	found := make([]*session, len(requests))
	t.srv.mu.Lock()
	for i := range requests {
		found[i] = t.byName[requests[i].Name]
	}
	t.srv.mu.Unlock()
	for i, s := range found {
		if s == nil || !s.screen.same(&requests[i]) {
			return false
		}
	}
	return true
}

func (a *apiServer) handlePeekMany(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.PeekList
	err := endpoint.ReadJSON(w, r, &in)
	if err != nil {
		return nil, err
	}
	if len(in.Requests) > maxPeeks {
		return nil, fmt.Errorf("%w: %d peeks, at most %d", api.ErrTooLarge, len(in.Requests), maxPeeks)
	}
	if in.Watch != "" {
		if in.Requests, err = a.watch(in.Watch); err != nil {
			return nil, err
		}
		if len(in.Requests) == 0 {
			return api.PeekUnchanged{Unchanged: true}, nil
		}
	}
	if in.Wait > 0 {
		if err := a.awaitNews(r.Context(), in.Requests, in.Wait); err != nil {
			return nil, err
		}
	}
	out := api.PeekReply{Results: make([]api.PeekResult, len(in.Requests))}
	for i, one := range in.Requests {
		out.Results[i] = a.peekOne(one)
	}
	if in.Keep && len(in.Requests) > 0 && a.srv.sessions.allSame(in.Requests) {
		out.Watch = a.watches.keep(in.Requests)
	}
	return out, nil
}

// newsPause is between two looks at a list while sessions change, in it or not.
const newsPause = 100 * time.Millisecond

// awaitNews waits until a session has something new, or until the time is up.
func (a *apiServer) awaitNews(ctx context.Context, requests []api.PeekRequest, most time.Duration) error {
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		changed := a.srv.events.change() // first: what changes later is seen
		if !a.srv.sessions.allSame(requests) {
			return nil
		}
		select {
		case <-changed:
		case <-end.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := clock.Sleep(ctx, newsPause); err != nil {
			return err
		}
	}
}

// peekOne is the result of one of many requests; that of a session that does not
// exist has Error set.
func (a *apiServer) peekOne(r api.PeekRequest) api.PeekResult {
	s, err := a.srv.sessions.find(r.Name)
	var out api.PeekResult
	if err == nil {
		out, err = s.screen.peek(r)
	}
	if err != nil {
		return api.PeekResult{Name: r.Name, Error: api.Remote(err)}
	}
	return out
}

package server

import (
	"fmt"
	"net/http"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

func handlePeek(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.PeekRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return s.screen.peek(in)
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
	out := api.PeekReply{Results: make([]api.PeekResult, len(in.Requests))}
	for i, one := range in.Requests {
		out.Results[i] = a.peekOne(one)
	}
	if in.Keep && len(in.Requests) > 0 && a.srv.sessions.allSame(in.Requests) {
		out.Watch = a.watches.keep(in.Requests)
	}
	return out, nil
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

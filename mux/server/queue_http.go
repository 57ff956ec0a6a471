package server

import (
	"fmt"
	"net/http"
	"time"

	"gascity.dev/gc/mux/api"
)

func (a *apiServer) handleEnqueue(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.QueueRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return a.srv.queue.enqueue(in)
}

func (a *apiServer) handleQueue(_ http.ResponseWriter, r *http.Request) (any, error) {
	items, err := a.srv.queue.list(r.URL.Query().Get("target"))
	return map[string][]api.QueueItem{"items": items}, err
}

func (a *apiServer) handleDequeue(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	if id == "" || len(id) > 64 {
		return nil, fmt.Errorf("%w: bad id", api.ErrRequest)
	}
	return nil, a.srv.queue.remove(id)
}

// handleQueueItem replies when the message was delivered or given up, or after the time
// in wait.
func (a *apiServer) handleQueueItem(_ http.ResponseWriter, r *http.Request) (any, error) {
	limit := time.Duration(0)
	if v := r.URL.Query().Get("wait"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%w: wait %q: not a duration", api.ErrRequest, v)
		}
		limit = d
	}
	return a.srv.queue.await(r.Context(), r.PathValue("id"), limit)
}

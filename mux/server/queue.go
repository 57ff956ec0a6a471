package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/internal/queue"
)

// newQueue returns the queue of a server whose database is open.
func newQueue(srv *server) *queue.Queue {
	return queue.New(queue.Options{Host: queueHost{srv}, DB: srv.db, Clock: srv.clock, Done: srv.lifetime.done, MaxText: nudge.MaxText})
}

// queueHost is the server as the queue sees it.
type queueHost struct{ srv *server }

func (h queueHost) Running(name string) (queue.Session, bool) {
	s := h.srv.sessions.named(name)
	return queueSession{s}, s != nil
}

func (h queueHost) Find(id string) (queue.Session, bool) {
	s, err := h.srv.sessions.find(id)
	return queueSession{s}, err == nil
}

// Typed implements [queue.Host]. No request is answered yet, so it needs no lock.
func (h queueHost) Typed(name, id string, nudges ...string) func(context.Context) (api.Receipt, error) {
	for _, s := range h.srv.sessions.byID {
		if s.rec.Name != name && s.rec.ID != id { // it may have been renamed
			continue
		}
		if outcome := s.nudges.Begun(nudges...); outcome != nil {
			return outcome
		}
	}
	return nil
}

// queueSession is a session as the queue sees it.
type queueSession struct{ s *session }

func (q queueSession) ID() string    { return q.s.rec.ID }
func (q queueSession) Running() bool { return q.s.life.running() }

func (q queueSession) Activity(ctx context.Context) (api.Activity, error) {
	return q.s.activity.current(ctx)
}

func (q queueSession) AwaitActivity(ctx context.Context, ok func(api.Activity) bool) error {
	return q.s.activity.await(ctx, ok)
}

func (q queueSession) Nudge(ctx context.Context, r api.NudgeRequest) (api.Receipt, error) {
	r.By = &api.Actor{Server: true}
	return q.s.nudge(ctx, r)
}

func (a *apiServer) handleEnqueue(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.QueueRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return a.srv.queue.Add(in)
}

func (a *apiServer) handleQueue(_ http.ResponseWriter, r *http.Request) (any, error) {
	items, err := a.srv.queue.List(r.URL.Query().Get("target"))
	return map[string][]api.QueueItem{"items": items}, err
}

func (a *apiServer) handleDequeue(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	if id == "" || len(id) > 64 {
		return nil, fmt.Errorf("%w: bad id", api.ErrRequest)
	}
	return nil, a.srv.queue.Remove(id)
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
	return a.srv.queue.Await(r.Context(), r.PathValue("id"), limit)
}

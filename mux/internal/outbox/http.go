package outbox

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// HandlePost serves POST /v1/outbox.
func (o *Outbox) HandlePost(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.OutboxRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return o.Post(in)
}

// HandleList serves GET /v1/outbox.
func (o *Outbox) HandleList(_ http.ResponseWriter, r *http.Request) (any, error) {
	q := r.URL.Query()
	var after uint64
	var wait time.Duration
	if v := q.Get("after"); v != "" {
		var err error
		if after, err = strconv.ParseUint(v, 10, 64); err != nil {
			return nil, fmt.Errorf("%w: after %q: not a place", api.ErrRequest, v)
		}
	}
	if v := q.Get("wait"); v != "" {
		var err error
		if wait, err = time.ParseDuration(v); err != nil || wait < 0 {
			return nil, fmt.Errorf("%w: wait %q: not a duration", api.ErrRequest, v)
		}
	}
	list, err := o.List(r.Context(), q.Get("city"), after, wait)
	return api.OutboxList{Entries: list}, err
}

// HandleRemove serves DELETE /v1/outbox/{id}.
func (o *Outbox) HandleRemove(_ http.ResponseWriter, r *http.Request) (any, error) {
	return nil, o.Remove(r.URL.Query().Get("city"), r.PathValue("id"))
}

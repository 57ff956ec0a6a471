package attached

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
)

// tellTyped reports to a client how much of its input was taken.
func tellTyped(t *journal.Typist, h http.Header) {
	if t != nil {
		h.Set(api.TypedHeader, fmt.Sprintf("%d %d", t.Next, t.Next-t.Done))
	}
}

// typedID returns the client's number in an attach request; 0 if it has none.
func typedID(r *http.Request) uint64 {
	id, err := strconv.ParseUint(r.URL.Query().Get("client"), 16, 64)
	if err != nil {
		return 0
	}
	return id
}

// typistOf returns the journal's record of a client. It waits until an earlier connection
// of the same client has been read to its end.
func (cs *Clients) typistOf(ctx context.Context, id uint64) (*journal.Typist, error) {
	s := cs.s
	for {
		s.Lock()
		old := cs.typists[id]
		if old == nil {
			break
		}
		clients := slices.Clone(cs.list)
		s.Unlock()
		for _, c := range clients {
			if c.in.typist == old {
				c.ws.CloseNow()
			}
		}
		select {
		case <-old.Gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer s.Unlock()
	t, err := s.Typist(id)
	if err != nil {
		return nil, err
	}
	if cs.typists == nil {
		cs.typists = make(map[uint64]*journal.Typist)
	}
	cs.typists[id] = t
	return t, nil
}

// dropTypist notes that a client's input ended.
func (cs *Clients) dropTypist(t *journal.Typist) {
	if t == nil {
		return
	}
	cs.s.Lock()
	delete(cs.typists, t.ID)
	cs.s.Unlock()
	close(t.Gone)
}

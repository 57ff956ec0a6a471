package server

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
func (i *input) typistOf(ctx context.Context, id uint64) (*journal.Typist, error) {
	s := i.s
	for {
		s.mu.Lock()
		old := i.typists[id]
		if old == nil {
			break
		}
		clients := slices.Clone(s.clients.list)
		s.mu.Unlock()
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
	defer s.mu.Unlock()
	t, err := s.storage.journal.Typist(id)
	if err != nil {
		return nil, err
	}
	if i.typists == nil {
		i.typists = make(map[uint64]*journal.Typist)
	}
	i.typists[id] = t
	return t, nil
}

// dropTypist notes that a client's input ended.
func (i *input) dropTypist(t *journal.Typist) {
	if t == nil {
		return
	}
	i.s.mu.Lock()
	delete(i.typists, t.ID)
	i.s.mu.Unlock()
	close(t.Gone)
}

// sendTyped is send for what a client typed.
func (i *input) sendTyped(ctx context.Context, t *journal.Typist, p []byte) error {
	if t == nil || len(p) == 0 {
		return i.send(ctx, p)
	}
	i.cancelledBy(p)
	if err := i.acquire(ctx); err != nil {
		return err
	}
	defer i.release()
	if i.s.rec.Pipes {
		t.Begin(len(p))
		n, err := i.write(ctx, p, 0)
		t.End(n)
		return err
	}
	i.setTypist(t)
	defer i.setTypist(nil)
	_, err := i.write(ctx, p, 0)
	return err
}

func (i *input) setTypist(t *journal.Typist) {
	i.s.mu.Lock()
	i.typist = t
	i.s.mu.Unlock()
}

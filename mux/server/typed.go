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

// typist returns the mark of a client. One of the same client that is still read
// is waited for: what it has read counts.
func (s *session) typist(ctx context.Context, id uint64) (*journal.Typist, error) {
	for {
		s.mu.Lock()
		old := s.typists[id]
		if old == nil {
			break
		}
		clients := slices.Clone(s.clients)
		s.mu.Unlock()
		for _, c := range clients {
			if c.typist == old {
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
	t, err := s.j.Typist(id)
	if err != nil {
		return nil, err
	}
	if s.typists == nil {
		s.typists = make(map[uint64]*journal.Typist)
	}
	s.typists[id] = t
	return t, nil
}

// dropTypist notes that a client's input ended.
func (s *session) dropTypist(t *journal.Typist) {
	if t == nil {
		return
	}
	s.mu.Lock()
	delete(s.typists, t.ID)
	s.mu.Unlock()
	close(t.Gone)
}

// tellTyped tells a client how much of its input was taken.
func tellTyped(t *journal.Typist, h http.Header) {
	if t != nil {
		h.Set(api.TypedHeader, fmt.Sprintf("%d %d", t.Next, t.Next-t.Done))
	}
}

// typedID is the client's number in an attach request, 0 for none.
func typedID(r *http.Request) uint64 {
	id, err := strconv.ParseUint(r.URL.Query().Get("client"), 16, 64)
	if err != nil {
		return 0
	}
	return id
}

// sendTyped is send for what a client typed.
func (s *session) sendTyped(ctx context.Context, t *journal.Typist, p []byte) error {
	if t == nil || len(p) == 0 {
		return s.send(ctx, p)
	}
	s.cancelledBy(p)
	if err := s.lockInput(ctx); err != nil {
		return err
	}
	defer s.unlockInput()
	if s.rec.Pipes {
		t.Begin(len(p))
		n, err := s.writeInput(ctx, p, 0)
		t.End(n)
		return err
	}
	s.setTypist(t)
	defer s.setTypist(nil)
	_, err := s.writeInput(ctx, p, 0)
	return err
}

func (s *session) setTypist(t *journal.Typist) {
	s.mu.Lock()
	s.in.typist = t
	s.mu.Unlock()
}

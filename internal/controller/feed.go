package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// feedLimit is how many events a follower may lag behind before it is dropped;
// it resumes after the last one it saw.
const feedLimit = 1024

// feed hands events to those who follow.
type feed struct {
	mu     sync.Mutex
	subs   map[chan Event]struct{}
	closed bool
}

func (f *feed) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.subs {
		select {
		case ch <- e:
		default:
			delete(f.subs, ch)
			close(ch)
		}
	}
}

func (f *feed) follow() (<-chan Event, func()) {
	ch := make(chan Event, feedLimit)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		close(ch)
		return ch, func() {}
	}
	if f.subs == nil {
		f.subs = map[chan Event]struct{}{}
	}
	f.subs[ch] = struct{}{}
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, ch)
	}
}

// close ends every follower.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for ch := range f.subs {
		delete(f.subs, ch)
		close(ch)
	}
}

// events answers with one JSON object a line; with follow=1 it goes on until
// the client or the controller goes.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.FormValue("after"), 10, 64)
	if err != nil && r.FormValue("after") != "" {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, wireError{Error: fmt.Sprintf("after=%s is not a number", r.FormValue("after"))})
		return
	}
	ch, stop := s.l.feed.follow()
	defer stop()
	past, err := s.l.book.Events(after, 0)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	for _, e := range past {
		after = e.Seq
		if out.Encode(e) != nil {
			return
		}
	}
	if r.FormValue("follow") != "1" {
		return
	}
	for {
		if flush.Flush() != nil {
			return
		}
		select {
		case e, ok := <-ch:
			if !ok {
				return
			}
			if e.Seq > after && out.Encode(e) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// Events calls fn for every kept event after seq; with follow for every later
// one too, until ctx ends, fn fails or the controller goes (nil). A follower
// that is too slow is cut off: call again with the last seq.
func (c *Client) Events(ctx context.Context, after uint64, follow bool, fn func(Event) error) error {
	path := "/v1/events?after=" + strconv.FormatUint(after, 10)
	if follow {
		path += "&follow=1"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://controller"+path, nil)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return decodeError(resp, "/v1/events")
	}
	dec := json.NewDecoder(resp.Body)
	for dec.More() {
		var e Event
		if err := dec.Decode(&e); err != nil {
			return fmt.Errorf("events: %w", err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

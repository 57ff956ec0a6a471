package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/event"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// eventFeed publishes what changes, to subscribers and pollers.
type eventFeed struct {
	log     *event.Log[api.Event]
	changes atomic.Uint64 // of all sessions

	awaited atomic.Bool // somebody waits for a change
	mu      sync.Mutex
	next    chan struct{} // closed at the next change; nil if not awaited
}

// noteChange counts a change of a session and wakes those that wait for one.
func (f *eventFeed) noteChange() {
	f.changes.Add(1)
	if !f.awaited.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next != nil {
		close(f.next)
		f.next = nil
	}
	f.awaited.Store(false)
}

// change returns a channel that closes at the next change of any session.
func (f *eventFeed) change() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = make(chan struct{})
	}
	f.awaited.Store(true)
	return f.next
}

// emit publishes an event of a session. It never blocks.
func (f *eventFeed) emit(s *session, e api.Event) {
	e.Time, e.Session, e.SID, e.Control = time.Now(), s.name(), s.rec.ID, s.rec.Control != nil
	f.log.Append(e)
}

// emitStart publishes that the server accepts requests.
func (f *eventFeed) emitStart() {
	f.log.Append(api.Event{Type: api.EventServer, Time: time.Now()})
}

// handleEvents streams events as server-sent events.
func (a *apiServer) handleEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	after := r.URL.Query().Get("after")
	if after == "" {
		after = r.Header.Get("Last-Event-ID")
	}
	pos, err := event.ParsePosition(after)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	sub, err := a.srv.events.log.Subscribe(pos)
	if errors.Is(err, event.ErrGone) {
		return nil, fmt.Errorf("%w: %w", api.ErrTooOld, err)
	} else if err != nil {
		return nil, err
	}
	defer sub.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	if err := out.Flush(); err != nil {
		return endpoint.Hijacked{}, nil
	}
	a.stream(r.Context(), w, out, sub)
	return endpoint.Hijacked{}, nil
}

// eventWrite limits the time a subscriber takes to read one event.
const eventWrite = 10 * time.Second

func (a *apiServer) stream(ctx context.Context, w http.ResponseWriter, out *http.ResponseController, sub *event.Subscription[api.Event]) {
	epoch := a.srv.events.log.Epoch()
	for {
		item, err := sub.Next(ctx)
		_ = out.SetWriteDeadline(time.Now().Add(eventWrite))
		var slow *event.SlowError
		if errors.As(err, &slow) {
			fmt.Fprintf(w, "event: slow\ndata: %s\n\n", slow.Resume)
			_ = out.Flush()
			return
		}
		if err != nil {
			return
		}
		e := item.Value
		e.ID = event.Position{Epoch: epoch, Seq: item.Seq}.String()
		b, err := json.Marshal(e)
		if err != nil {
			slog.Error("cannot encode an event", "error", err)
			continue
		}
		fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type, b)
		if out.Flush() != nil {
			return
		}
	}
}

package screens

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Pauses between questions to a source that fails.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Hub shares the screens of a source among viewers. Its methods may be called from many
// goroutines.
type Hub struct {
	src     Source
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex // guards all below, and what is in views
	closed  bool
	watches map[string]*watch
}

// watch follows one session while somebody looks at it.
type watch struct {
	id     string
	cancel context.CancelFunc
	newest *Screen               // nil before the first
	looks  map[*looking]struct{} // of all viewers
	faster chan struct{}         // gets a value when the rate may have grown
	rate   float64               // of the fastest viewer
}

// NewHub returns a hub without viewers, which costs nothing.
func NewHub(src Source) *Hub {
	h := &Hub{src: src, watches: map[string]*watch{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close ends the watches and the viewers, and waits for the watches.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.workers.Wait()
}

// Watched returns how many sessions are watched now.
func (h *Hub) Watched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watches)
}

// join adds a viewer's interest in a session. mu is held.
func (h *Hub) join(l *looking) {
	w := h.watches[l.look.ID]
	if w == nil {
		w = &watch{id: l.look.ID, looks: map[*looking]struct{}{}, faster: make(chan struct{}, 1)}
		h.watches[w.id] = w
		var ctx context.Context
		ctx, w.cancel = context.WithCancel(h.ctx)
		if !h.closed {
			h.workers.Go(func() { h.follow(ctx, w) })
		}
	}
	l.watch = w
	w.looks[l] = struct{}{}
	w.setRate()
}

// leave undoes join; the last one to leave ends the watch. mu is held.
func (h *Hub) leave(l *looking) {
	w := l.watch
	delete(w.looks, l)
	if len(w.looks) > 0 {
		w.setRate()
		return
	}
	w.cancel()
	delete(h.watches, w.id)
}

// setRate notes the rate of the fastest viewer. The hub's mu is held.
func (w *watch) setRate() {
	was := w.rate
	w.rate = 0
	for l := range w.looks {
		w.rate = max(w.rate, l.rate())
	}
	if w.rate > was {
		select {
		case w.faster <- struct{}{}:
		default:
		}
	}
}

// pace returns the pause between two screens.
func (h *Hub) pace(w *watch) (rate float64, pause time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return w.rate, interval(w.rate)
}

// follow asks the source for one screen after the other until nobody looks.
func (h *Hub) follow(ctx context.Context, w *watch) {
	var mark Mark
	var shown *Screen
	pause := firstPause
	for {
		rate, _ := h.pace(w)
		s, err := h.src.Next(ctx, w.id, mark, rate)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if lost := lostScreen(shown, err); shown == nil || lost.Mark() != shown.Mark() {
				shown = lost
				h.publish(w, lost)
			}
			mark = Mark{} // the next answer is news
			if !sleep(ctx, pause) {
				return
			}
			pause = min(2*pause, maxPause)
			continue
		}
		pause, mark, shown = firstPause, s.Mark(), s
		h.publish(w, s)
		if !h.breathe(ctx, w) {
			return
		}
	}
}

// lostScreen is the last screen of a session of which nothing can be told.
func lostScreen(last *Screen, err error) *Screen {
	s := Screen{}
	if last != nil {
		s = *last
	}
	s.State, s.Why = Unknown, err.Error()
	return &s
}

// breathe waits until the fastest viewer may get another screen; false if ctx ends first.
func (h *Hub) breathe(ctx context.Context, w *watch) bool {
	began := time.Now()
	for {
		_, pause := h.pace(w)
		left := time.Until(began.Add(pause))
		if left <= 0 {
			return ctx.Err() == nil
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-w.faster:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return false
		}
	}
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// interval is the time between two updates at a rate.
func interval(rate float64) time.Duration {
	return time.Duration(float64(time.Second) / max(rate, minRate))
}

// publish shows a screen to those who look at it.
func (h *Hub) publish(w *watch, s *Screen) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.newest = s
	for l := range w.looks {
		l.news()
	}
}

// ErrClosed is the error of Next after Close.
var ErrClosed = errors.New("the viewer is closed")

package alive

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Group watches a process for all requests of one client: however many wait, one probe
// serves them. It is safe for concurrent use.
type Group struct {
	probe  func(context.Context) error
	frozen error

	mu      sync.Mutex // guards the following
	waiting map[*request]bool
	half    time.Duration // the time that the next probe has, and half the limit
	pause   time.Duration // before the next probe
	due     time.Time     // of the next probe; zero: none is planned
	timer   *time.Timer
	stop    context.CancelFunc // ends the probe that is under way; may be nil
}

// request is one that waits.
type request struct{ cancel context.CancelCauseFunc }

// NewGroup returns a group that calls probe, one call at a time, and cancels the requests
// with the cause frozen.
func NewGroup(probe func(context.Context) error, frozen error) *Group {
	return &Group{probe: probe, frozen: frozen, waiting: map[*request]bool{}}
}

// Watch is [WatchFor] for one request of the group. A request that begins makes the
// next probe start within half of limit.
func (g *Group) Watch(ctx context.Context, limit time.Duration) (watched context.Context, done func()) {
	watched, cancel := context.WithCancelCause(ctx)
	r := &request{cancel}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting[r] = true
	g.half, g.pause = limit/2, limit/2
	if at := time.Now().Add(g.pause); g.due.IsZero() || at.Before(g.due) {
		g.plan()
	}
	return watched, func() { cancel(nil); g.leave(r) }
}

// leave ends a request; after the last one nothing is left of the group's work.
func (g *Group) leave(r *request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiting, r)
	if len(g.waiting) > 0 || g.timer == nil {
		return
	}
	g.timer.Stop()
	g.due = time.Time{}
	if g.stop != nil {
		g.stop()
	}
}

// plan makes the next probe start after the pause. The caller holds mu.
func (g *Group) plan() {
	if g.timer != nil {
		g.timer.Stop()
	}
	g.due = time.Now().Add(g.pause)
	g.timer = time.AfterFunc(g.pause, g.ask)
}

// ask probes, and then plans the next probe or cancels every request.
func (g *Group) ask() {
	g.mu.Lock()
	if len(g.waiting) == 0 || g.stop != nil {
		g.mu.Unlock()
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), g.half)
	g.stop, g.pause = stop, min(2*g.pause, maxPause)
	g.mu.Unlock()
	err := g.probe(ctx)
	silent := err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
	stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop = nil
	switch {
	case len(g.waiting) == 0:
		g.due = time.Time{}
	case silent:
		for r := range g.waiting {
			r.cancel(g.frozen)
		}
		clear(g.waiting)
		g.due = time.Time{}
	default: // it answers; or it is gone, which the requests themselves detect
		g.plan()
	}
}

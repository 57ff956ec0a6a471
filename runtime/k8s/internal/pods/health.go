//go:build k8s

package pods

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"gascity.dev/gc/internal/clock"
)

// health knows whether a watch is connected, and since when and why it is not.
type health struct {
	changed func() // called when one begins or cannot begin
	back    func() // called when one begins and none was connected

	mu    sync.Mutex
	once  bool      // one was connected
	open  int       // connected watches: another may begin before the last has ended
	since time.Time // when the last one ended
	again time.Time // when one began after a loss; zero: never
	err   error     // of the latest attempt; nil if it succeeded
}

func newHealth(changed, back func()) *health {
	if back == nil {
		back = func() {}
	}
	return &health{changed: changed, back: back, since: time.Now()}
}

// loss is how long no watch is connected when the API server is away, and not only ends it
// as it does every few minutes.
const loss = 5 * time.Second

// began reports whether a watch was ever connected.
func (h *health) began() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.once
}

// forbidden reports whether the cluster answers, and forbids the watch.
func (h *health) forbidden() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return forbidden(h.err)
}

func forbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// away returns how long no watch was connected; zero while one is.
func (h *health) away() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open > 0 {
		return 0
	}
	return time.Since(h.since)
}

// failed notes why the pods cannot be listed or watched.
func (h *health) failed(err error) {
	h.mu.Lock()
	h.err = err
	h.mu.Unlock()
	h.changed()
}

// Pauses between requests for a list or a watch that fail; the first is doubled by each.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 2 * time.Second
)

// persist repeats a request until the cluster answers it, or with what a list and a watch
// from the beginning may help against. client-go's pauses grow to a minute.
func persist[T any](ctx context.Context, h *health, request func() (T, error)) (T, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		answer, err := request()
		if err == nil || !passes(err) {
			return answer, err
		}
		h.failed(err)
		if clock.Sleep(ctx, pause/2+rand.N(pause/2)) != nil {
			return answer, err
		}
	}
}

// passes reports whether the same request may succeed later.
func passes(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || forbidden(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// why returns err with the reason of the latest failure, if there is one.
func (h *health) why(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, h.err)
}

// follow counts a watch as connected until its events end.
func (h *health) follow(w watch.Interface) watch.Interface {
	h.mu.Lock()
	h.open++
	back := h.open == 1
	if back && h.once && time.Since(h.since) > loss {
		h.again = time.Now()
	}
	h.once, h.err = true, nil
	h.mu.Unlock()
	h.changed()
	if back {
		h.back()
	}
	f := &followed{from: w, events: make(chan watch.Event), stop: make(chan struct{})}
	go f.run(h)
	return f
}

func (h *health) ended() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	h.since = time.Now()
}

// followed passes a watch's events on and reports its end.
type followed struct {
	from   watch.Interface
	events chan watch.Event
	stop   chan struct{}
	once   sync.Once
}

func (f *followed) ResultChan() <-chan watch.Event { return f.events }

func (f *followed) Stop() {
	f.once.Do(func() { close(f.stop) })
	f.from.Stop()
}

func (f *followed) run(h *health) {
	defer close(f.events)
	defer h.ended()
	for event := range f.from.ResultChan() {
		select {
		case f.events <- event:
		case <-f.stop:
			return
		}
	}
}

//go:build k8s

package pods

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// health knows whether a watch is connected, and since when and why it is not.
type health struct {
	mu    sync.Mutex
	open  int       // connected watches: another may begin before the last has ended
	since time.Time // when the last one ended
	err   error     // of the latest attempt; nil if it succeeded
}

func newHealth() *health { return &health{since: time.Now()} }

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
	defer h.mu.Unlock()
	h.err = err
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
	h.err = nil
	h.mu.Unlock()
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

package api

import (
	"sync"
)

// feedLimit is how many events a follower may lag behind before it is dropped; it
// resumes after the last event it received.
const feedLimit = 1024

// Feed publishes events to its followers. The zero value is ready to use.
type Feed struct {
	mu     sync.Mutex
	subs   map[chan Event]struct{}
	closed bool
}

// Add publishes e. A follower that lags too far behind is dropped.
func (f *Feed) Add(e Event) {
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

// follow returns a channel of later events, and a function that ends the
// subscription.
func (f *Feed) follow() (<-chan Event, func()) {
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

// Close ends every follower.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for ch := range f.subs {
		delete(f.subs, ch)
		close(ch)
	}
}

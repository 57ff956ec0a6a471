package mux

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxWaiters bounds the queue for one lock.
const maxWaiters = 1024

// fifo is a lock that is had in the order of asking, and may be waited for as
// long as a context lasts. The zero value is free.
type fifo struct {
	mu    sync.Mutex
	held  bool
	queue []chan struct{} // first come first
}

// lock waits for the lock; ErrInputFull when too many wait already, or the
// error of ctx.
func (l *fifo) lock(ctx context.Context) error {
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return nil
	}
	if len(l.queue) >= maxWaiters {
		l.mu.Unlock()
		return fmt.Errorf("%w: %d writers wait", ErrInputFull, maxWaiters)
	}
	turn := make(chan struct{})
	l.queue = append(l.queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.queue, turn)
	if i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // it was granted meanwhile
		l.unlock()
	}
	return ctx.Err()
}

// unlock gives the lock to the next in the queue.
func (l *fifo) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.held, l.queue = false, nil
		return
	}
	close(l.queue[0])
	l.queue = l.queue[1:]
}

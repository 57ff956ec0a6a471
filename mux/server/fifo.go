package server

import (
	"context"
	"fmt"
	"sync/atomic"

	"gascity.dev/gc/mux/api"
	"golang.org/x/sync/semaphore"
)

// maxWaiters limits the queue for one lock.
const maxWaiters = 1024

// fifo is a lock granted in the order of the calls, to a bounded number of waiters.
type fifo struct {
	sem     *semaphore.Weighted // first come first
	waiters atomic.Int32
}

func newFIFO() *fifo { return &fifo{sem: semaphore.NewWeighted(1)} }

// lock waits for the lock. ErrInputFull if too many wait already, or ctx's error.
func (l *fifo) lock(ctx context.Context) error {
	if l.sem.TryAcquire(1) {
		return nil
	}
	defer l.waiters.Add(-1)
	if l.waiters.Add(1) > maxWaiters {
		return fmt.Errorf("%w: %d writers wait", api.ErrInputFull, maxWaiters)
	}
	return l.sem.Acquire(ctx, 1)
}

// unlock gives the lock to the next in the queue.
func (l *fifo) unlock() { l.sem.Release(1) }

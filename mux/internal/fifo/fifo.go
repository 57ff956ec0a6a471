// Package fifo has a lock that is granted in the order of the calls. It is a leaf.
package fifo

import (
	"context"
	"fmt"
	"sync/atomic"

	"gascity.dev/gc/mux/api"
	"golang.org/x/sync/semaphore"
)

// maxWaiters limits the queue for one lock.
const maxWaiters = 1024

// Lock is a lock granted in the order of the calls, to a bounded number of waiters.
type Lock struct {
	sem     *semaphore.Weighted // first come first
	waiters atomic.Int32
}

// New returns an unlocked lock.
func New() *Lock { return &Lock{sem: semaphore.NewWeighted(1)} }

// Lock waits for the lock. ErrInputFull if too many wait already, or ctx's error.
func (l *Lock) Lock(ctx context.Context) error {
	if l.sem.TryAcquire(1) {
		return nil
	}
	defer l.waiters.Add(-1)
	if l.waiters.Add(1) > maxWaiters {
		return fmt.Errorf("%w: %d writers wait", api.ErrInputFull, maxWaiters)
	}
	return l.sem.Acquire(ctx, 1)
}

// Unlock gives the lock to the next in the queue.
func (l *Lock) Unlock() { l.sem.Release(1) }

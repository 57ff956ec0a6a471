// Package turn queues callers by name: one at a time for each name, in the order of
// the calls. It is a leaf, and the queued work is opaque to it.
package turn

import (
	"context"
	"slices"
	"sync"
)

// Queues are the queues of all names. The zero value is ready to use; safe for
// concurrent use.
type Queues struct {
	mu sync.Mutex
	// waiting holds the callers that wait, the next one first. A name is in it
	// while a caller has its turn.
	waiting map[string][]chan struct{}
}

// Enter waits for the caller's turn at the name, which lasts until release is
// called. It fails with ctx's error.
func (q *Queues) Enter(ctx context.Context, name string) (release func(), err error) {
	release = func() { q.leave(name) }
	q.mu.Lock()
	waiting, busy := q.waiting[name]
	if !busy {
		if q.waiting == nil {
			q.waiting = map[string][]chan struct{}{}
		}
		q.waiting[name] = nil
		q.mu.Unlock()
		return release, nil
	}
	turn := make(chan struct{})
	q.waiting[name] = append(waiting, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return release, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting[name], turn)
	if i >= 0 {
		q.waiting[name] = slices.Delete(q.waiting[name], i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		release() // the turn came at the same moment: pass it on
	}
	return nil, ctx.Err()
}

// leave hands the turn to the next caller.
func (q *Queues) leave(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting[name]
	if len(waiting) == 0 {
		delete(q.waiting, name)
		return
	}
	close(waiting[0])
	q.waiting[name] = waiting[1:]
}

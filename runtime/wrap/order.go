package wrap

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gascity.dev/gc/runtime"
)

// InOrder returns p with one more promise: input of one session (nudges, keys,
// answers) is delivered one call at a time, in the order of the calls. A backend
// that keeps the order itself (Capabilities.Ordered) is left alone. A call whose
// context ends before its turn delivers nothing.
func InOrder(p runtime.Provider) runtime.Provider {
	q := &queues{waiting: map[string][]chan struct{}{}}
	return newAround(p, func(ctx context.Context, c Call, do func(context.Context) error) error {
		// Capabilities are asked for at the first input: that may take a call.
		if c.Kind != Input || p.Capabilities().Ordered {
			return do(ctx)
		}
		if err := q.enter(ctx, c.Session); err != nil {
			return fmt.Errorf("input of %s: waiting for earlier input: %w", c.Session, err)
		}
		defer q.leave(c.Session)
		return do(ctx)
	})
}

// queues holds who waits for their turn at a session, the next one first. A
// session is in it while a call is under way.
type queues struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{}
}

// enter waits for the session's turn.
func (q *queues) enter(ctx context.Context, name string) error {
	q.mu.Lock()
	waiting, busy := q.waiting[name]
	if !busy {
		q.waiting[name] = nil
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	q.waiting[name] = append(waiting, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting[name], turn)
	if i >= 0 {
		q.waiting[name] = slices.Delete(q.waiting[name], i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.leave(name) // the turn came at the same moment: pass it on
	}
	return ctx.Err()
}

// leave hands the turn to the next caller.
func (q *queues) leave(name string) {
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

package controller

import (
	"context"
	"sync/atomic"

	"gascity.dev/gc/internal/controller/api"
)

// inLoop runs fn on the loop and waits for it. With an error fn did not run and
// never will, so that the caller may use what fn writes.
func (l *loop) inLoop(ctx context.Context, fn func()) error {
	var claimed atomic.Bool // by the loop, or by a caller that gave up
	done := make(chan struct{})
	run := func() {
		if claimed.CompareAndSwap(false, true) {
			defer close(done)
			fn()
		}
	}
	select {
	case l.inbox <- run:
	case <-l.done:
		return api.ErrShuttingDown
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	select {
	case <-done:
		return nil
	case <-l.done:
		err = api.ErrShuttingDown
	case <-ctx.Done():
		err = ctx.Err()
	}
	if claimed.CompareAndSwap(false, true) {
		return err
	}
	<-done // it is being run, and blocks on nothing
	return nil
}

// awaitIn registers a condition from outside the loop and waits for it, or for
// the end of the loop.
func (l *loop) awaitIn(ctx context.Context, met func() bool) error {
	a := await{met: met, done: make(chan struct{})}
	if err := l.inLoop(ctx, func() { l.awaits = append(l.awaits, a) }); err != nil {
		return err
	}
	select {
	case <-a.done:
		return nil
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

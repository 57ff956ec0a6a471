package controller

import (
	"context"
	"sync/atomic"

	"gascity.dev/gc/internal/controller/api"
)

// mailbox hands functions to the loop's goroutine, which alone reads it.
type mailbox struct {
	inbox  chan func()
	done   chan struct{} // closed when the inbox is no longer read
	awaits []await       // belong to the loop's goroutine
}

// await is a caller that waits for a condition.
type await struct {
	met  func() bool
	done chan struct{}
}

// inboxSize lets workers hand in results without waiting for each other.
const inboxSize = 256

// post sends fn to the loop; fn is dropped if the loop has ended.
func (mb *mailbox) post(fn func()) {
	select {
	case mb.inbox <- fn:
	case <-mb.done:
	}
}

// do runs fn on the loop and waits for it. After an error fn did not run and
// never will, so the caller may use what it writes.
func (mb *mailbox) do(ctx context.Context, fn func()) error {
	var claimed atomic.Bool // by the loop, or by a caller that gave up
	done := make(chan struct{})
	run := func() {
		if claimed.CompareAndSwap(false, true) {
			defer close(done)
			fn()
		}
	}
	select {
	case mb.inbox <- run:
	case <-mb.done:
		return api.ErrShuttingDown
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	select {
	case <-done:
		return nil
	case <-mb.done:
		err = api.ErrShuttingDown
	case <-ctx.Done():
		err = ctx.Err()
	}
	if claimed.CompareAndSwap(false, true) {
		return err
	}
	<-done // it is running, and does not block
	return nil
}

// call is do for a function that returns an error.
func (mb *mailbox) call(ctx context.Context, fn func() error) (err error) {
	if e := mb.do(ctx, func() { err = fn() }); e != nil {
		return e
	}
	return err
}

// await waits until met holds on the loop, or the loop ends.
func (mb *mailbox) await(ctx context.Context, met func() bool) error {
	a := await{met: met, done: make(chan struct{})}
	if err := mb.do(ctx, func() { mb.awaits = append(mb.awaits, a) }); err != nil {
		return err
	}
	select {
	case <-a.done:
		return nil
	case <-mb.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drainInbox runs what has arrived already, so that one step serves all of it.
func (mb *mailbox) drainInbox() {
	for range inboxSize {
		select {
		case fn := <-mb.inbox:
			fn()
		default:
			return
		}
	}
}

// wake releases callers whose condition is met, or all callers.
func (mb *mailbox) wake(all bool) {
	kept := mb.awaits[:0]
	for _, a := range mb.awaits {
		if all || a.met() {
			close(a.done)
			continue
		}
		kept = append(kept, a)
	}
	clear(mb.awaits[len(kept):])
	mb.awaits = kept
}

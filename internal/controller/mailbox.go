package controller

import (
	"context"
	"sync/atomic"

	"gascity.dev/gc/internal/controller/api"
)

// mailbox hands functions to the goroutine of the loop, which alone reads it.
type mailbox struct {
	inbox  chan func()
	done   chan struct{} // closed when nobody reads the inbox any more
	awaits []await       // of the loop's goroutine
}

// await is somebody waiting for a condition on the state.
type await struct {
	met  func() bool
	done chan struct{}
}

// inboxSize lets workers hand in results without waiting for each other.
const inboxSize = 256

// post hands fn to the loop; it is dropped when the loop has ended.
func (mb *mailbox) post(fn func()) {
	select {
	case mb.inbox <- fn:
	case <-mb.done:
	}
}

// inLoop runs fn on the loop and waits for it. With an error fn did not run and
// never will, so that the caller may use what fn writes.
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
	<-done // it is being run, and blocks on nothing
	return nil
}

// awaitIn registers a condition from outside the loop and waits for it, or for
// the end of the loop.
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

// drainInbox takes what is there already, so that one step serves all.
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

// wake tells those whose condition is met, or all at the end.
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

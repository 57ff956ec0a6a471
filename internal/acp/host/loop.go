package host

import (
	"context"
	"time"
)

// loop runs functions on one goroutine, in the order in which they were posted.
type loop struct {
	work chan func()
	done chan struct{} // closed when the loop has ended
}

func newLoop() loop { return loop{work: make(chan func()), done: make(chan struct{})} }

// post passes f to the loop. It blocks until the loop accepts it; false: the loop has
// ended. The loop itself must not post.
func (l loop) post(f func()) bool {
	select {
	case l.work <- f:
		return true
	case <-l.done:
		return false
	}
}

// after posts f when d has passed.
func (l loop) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { l.post(f) })
}

// ask posts f, which answers at once or later, and waits for the answer.
func ask[T any](ctx context.Context, l loop, f func(answer chan<- T)) (T, error) {
	answer := make(chan T, 1)
	var zero T
	if !l.post(func() { f(answer) }) {
		return zero, errEnded
	}
	select {
	case v := <-answer:
		return v, nil
	case <-ctx.Done():
	case <-l.done:
	}
	select {
	case v := <-answer: // the other is no reason to lose it
		return v, nil
	default:
	}
	select {
	case <-l.done:
		return zero, errEnded
	default:
		return zero, ctx.Err()
	}
}

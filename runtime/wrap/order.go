package wrap

import (
	"context"
	"fmt"
	"sync"

	"gascity.dev/gc/runtime"
)

// InOrder returns p with one more promise: nudges and keys of one session are
// delivered one at a time, in the order of the calls. It is for providers whose
// backend does not queue by itself. A call that waits for its turn ends with
// its context, and nothing of it was delivered then.
func InOrder(p runtime.Provider) runtime.Provider {
	return &ordered{Provider: p, turns: map[string]*turn{}}
}

type ordered struct {
	runtime.Provider
	unlessDone bool // not where Capabilities.Ordered; asked at the first input, for it may take a call

	mu    sync.Mutex
	turns map[string]*turn // sessions with a call under way
}

// turn is the queue of one session; the first waiter is next.
type turn struct{ waiting []chan struct{} }

// Unwrap gives the optional interfaces of the provider inside.
func (o *ordered) Unwrap() runtime.Provider { return o.Provider }

// take waits for the session's turn.
func (o *ordered) take(ctx context.Context, name string) error {
	o.mu.Lock()
	t := o.turns[name]
	if t == nil {
		o.turns[name] = &turn{}
		o.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.waiting = append(t.waiting, mine)
	o.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	o.mu.Lock()
	for i, w := range t.waiting {
		if w == mine {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			o.mu.Unlock()
			return ctx.Err()
		}
	}
	o.mu.Unlock()
	o.give(name) // the turn came at the same moment: pass it on
	return ctx.Err()
}

// give hands the turn to the next one.
func (o *ordered) give(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.turns[name]
	if len(t.waiting) == 0 {
		delete(o.turns, name)
		return
	}
	next := t.waiting[0]
	t.waiting = t.waiting[1:]
	close(next)
}

// done reports whether the backend keeps the order itself.
func (o *ordered) done() bool { return o.unlessDone && o.Capabilities().Ordered }

func (o *ordered) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	if o.done() {
		return o.Provider.Nudge(ctx, name, content)
	}
	if err := o.take(ctx, name); err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: waiting for earlier input: %w", name, err)
	}
	defer o.give(name)
	return o.Provider.Nudge(ctx, name, content)
}

func (o *ordered) SendKeys(ctx context.Context, name string, keys ...string) error {
	if o.done() {
		return o.Provider.SendKeys(ctx, name, keys...)
	}
	if err := o.take(ctx, name); err != nil {
		return fmt.Errorf("keys %s: waiting for earlier input: %w", name, err)
	}
	defer o.give(name)
	return o.Provider.SendKeys(ctx, name, keys...)
}

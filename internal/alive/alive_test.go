package alive

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errFrozen = errors.New("frozen")

func silent(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestWatch(t *testing.T) {
	cases := map[string]struct {
		probe func(context.Context) error
		after time.Duration // 0: it never ends by itself
	}{
		"a query":                {nil, Limit},
		"a process that hangs":   {silent, Limit},
		"a process that answers": {func(context.Context) error { return nil }, 0},
		"a process that is gone": {func(context.Context) error { return errors.New("refused") }, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, done := Watch(t.Context(), c.probe, errFrozen)
				defer done()
				select {
				case <-ctx.Done():
				case <-time.After(time.Hour):
				}
				took := time.Since(start)
				if c.after == 0 && ctx.Err() != nil || c.after != 0 && (took != c.after || !errors.Is(context.Cause(ctx), errFrozen)) {
					t.Errorf("after %v: %v", took, context.Cause(ctx))
				}
			})
		})
	}
}

// TestWatchFreezesLater: a process that hangs after answering once is detected.
func TestWatchFreezesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := 0
		ctx, done := Watch(t.Context(), func(ctx context.Context) error {
			if answers++; answers < 10 {
				return nil
			}
			return silent(ctx)
		}, errFrozen)
		defer done()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), errFrozen) {
			t.Error(context.Cause(ctx))
		}
	})
}

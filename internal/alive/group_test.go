package alive

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGroup: one probe serves all requests, however many there are, and all of them learn
// that the process hangs. Without a request there is no probe.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int32
		var hangs atomic.Bool
		g := NewGroup(func(ctx context.Context) error {
			if probes.Add(1); hangs.Load() {
				return silent(ctx)
			}
			return nil
		}, errFrozen)
		const many = 50
		var all []context.Context
		var ends []func()
		for range many {
			ctx, done := g.Watch(t.Context(), Limit)
			all, ends = append(all, ctx), append(ends, done)
		}
		time.Sleep(10 * time.Minute)
		if n := probes.Load(); n < 10 || n > 15 {
			t.Errorf("%d probes in ten minutes", n)
		}
		hangs.Store(true)
		young, done := g.Watch(t.Context(), Limit)
		began := time.Now()
		<-young.Done()
		if took := time.Since(began); took > Limit {
			t.Errorf("a new request learned it after %v", took)
		}
		synctest.Wait()
		for _, ctx := range append(all, young) {
			if !errors.Is(context.Cause(ctx), errFrozen) {
				t.Errorf("%v", context.Cause(ctx))
			}
		}
		done()
		for _, done := range ends {
			done()
		}
		before := probes.Load()
		time.Sleep(time.Hour)
		if n := probes.Load() - before; n != 0 {
			t.Errorf("%d probes without a request", n)
		}
	})
}

// TestGroupStops: a request that ends leaves no probe behind, not even one under way, and
// the next request is watched again.
func TestGroupStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup(silent, errFrozen)
		_, done := g.Watch(t.Context(), Limit)
		time.Sleep(Limit * 3 / 4)
		done() // synctest fails if the probe does not end
		ctx, done := g.Watch(t.Context(), Again)
		defer done()
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took != Again || !errors.Is(context.Cause(ctx), errFrozen) {
			t.Errorf("after %v: %v", took, context.Cause(ctx))
		}
	})
}

// TestGroupYoung: a request that begins while the pauses are long does not wait for the
// end of one, and nor does one that begins during a probe.
func TestGroupYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		g := NewGroup(func(ctx context.Context) error {
			select {
			case <-hangs:
				return silent(ctx)
			case <-time.After(Limit / 4):
				return nil
			}
		}, errFrozen)
		_, done := g.Watch(t.Context(), Limit)
		defer done()
		time.Sleep(Limit/2 + Limit/8) // in the first probe
		young, end := g.Watch(t.Context(), Limit)
		defer end()
		time.Sleep(Limit / 4)
		close(hangs)
		began := time.Now()
		<-young.Done()
		if took := time.Since(began); took > Limit {
			t.Errorf("after %v", took)
		}
	})
}

package wrap_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/wrap"
)

// A provider keeps the contract under every decorator.
func TestDecoratedFakeConforms(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		h := runtimetest.Fake()
		h.Provider = wrap.InOrder(wrap.WithDeadlines(h.Provider, wrap.Deadlines{}))
		return h
	})
}

func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := runtimefake.New()
		p := wrap.InOrder(f)
		if err := p.Start(t.Context(), "a", runtime.Config{}); err != nil {
			t.Fatal(err)
		}
		f.Hang("Nudge", "a", true)
		done := make(chan error)
		for i := range 5 {
			go func() {
				_, err := p.Nudge(t.Context(), "a", runtime.TextContent(fmt.Sprint(i)))
				done <- err
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Nudge(ctx, "a", runtime.TextContent("late")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the sixth nudge: %v", err)
		}
		if n := len(f.CallsOf("Nudge", "a")); n != 1 {
			t.Fatalf("%d nudges reached the provider at once", n)
		}
		f.Hang("Nudge", "a", false)
		for range 5 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		for i, c := range f.CallsOf("Nudge", "a") {
			if c.Text != fmt.Sprint(i) {
				t.Errorf("nudge %d is %q", i, c.Text)
			}
		}
	})
}

func TestDeadlinesTurnAHangIntoUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := runtimefake.New()
		p := wrap.WithDeadlines(f, wrap.Deadlines{})
		f.Hang("Peek", "", true)
		begin := time.Now()
		_, err := p.Peek(t.Context(), "a", 0)
		if !errors.Is(err, runtime.ErrBackendUnreachable) || time.Since(begin) != 30*time.Second {
			t.Fatalf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Hang("Peek", "", false)
		if _, err := p.Peek(ctx, "a", 0); !errors.Is(err, context.Canceled) || errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Fatalf("the caller's own end: %v", err)
		}
	})
}

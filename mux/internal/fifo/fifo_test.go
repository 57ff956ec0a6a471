package fifo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"gascity.dev/gc/mux/api"
)

func TestFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		if err := l.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancel(t.Context())
		got := make(chan int, 4)
		for i := range 4 {
			ctx := t.Context()
			if i == 1 {
				ctx = gone
			}
			go func() {
				if err := l.Lock(ctx); err != nil {
					got <- -1
					return
				}
				got <- i
			}()
			synctest.Wait() // so that they queue in order
		}
		leave()
		if n := <-got; n != -1 {
			t.Fatalf("%d has the lock", n)
		}
		for _, want := range []int{0, 2, 3} {
			l.Unlock()
			if n := <-got; n != want {
				t.Fatalf("%d has the lock, want %d", n, want)
			}
		}
		l.Unlock()
		if err := l.Lock(t.Context()); err != nil || l.waiters.Load() != 0 {
			t.Fatal(err)
		}
	})
}

// a waiter that leaves at the moment it gets the lock passes it on
func TestFIFOGrantedAndLeft(t *testing.T) {
	for range 200 {
		l := New()
		if err := l.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Lock(ctx) }()
		go leave()
		l.Unlock()
		if <-done == nil {
			l.Unlock()
		}
		if err := l.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFIFOIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		ctx, leave := context.WithCancel(t.Context())
		if err := l.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		for range maxWaiters {
			go func() { _ = l.Lock(ctx) }()
		}
		synctest.Wait()
		if err := l.Lock(ctx); !errors.Is(err, api.ErrInputFull) {
			t.Fatal(err)
		}
		leave()
	})
}

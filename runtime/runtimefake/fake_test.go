package runtimefake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

func TestFakeFailuresAreOnDemand(t *testing.T) {
	ctx, f := t.Context(), runtimefake.New()
	boom := errors.New("boom")
	f.FailTimes("Start", "a", boom, 1)
	if err := f.Start(ctx, "a", runtime.Config{}); !errors.Is(err, boom) {
		t.Fatalf("first start: %v", err)
	}
	if err := f.Start(ctx, "a", runtime.Config{}); err != nil {
		t.Fatalf("second start: %v", err)
	}
	f.Fail("IsRunning", "", boom)
	if _, err := f.IsRunning(ctx, "a"); !errors.Is(err, boom) {
		t.Fatalf("is running: %v", err)
	}
	f.Fail("IsRunning", "", nil)
	if ok, err := f.IsRunning(ctx, "a"); !ok || err != nil {
		t.Fatalf("is running: %v, %v", ok, err)
	}
}

func TestFakeHangEndsWithContextAsUnreachable(t *testing.T) {
	f := runtimefake.New()
	f.Hang("IsRunning", "", true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := runtime.ObserveLiveness(ctx, f, "a", nil)
	if !errors.Is(err, runtime.ErrBackendUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("liveness of a hanging backend: %v", err)
	}
}

func TestFakeCrashIsPushed(t *testing.T) {
	ctx, f := t.Context(), runtimefake.New()
	events, err := f.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(ctx, "a", runtime.Config{Command: "x"}); err != nil {
		t.Fatal(err)
	}
	f.SetPeek("a", "last words")
	f.Exit("a", 7)
	if e := <-events; e.Kind != runtime.EventStarted || e.Session != "a" {
		t.Fatalf("first event: %+v", e)
	}
	e := <-events
	if e.Kind != runtime.EventExited || e.Exit == nil || e.Exit.Code != 7 {
		t.Fatalf("second event: %+v", e)
	}
	if text, err := f.Peek(ctx, "a", 0); err != nil || text != "last words" {
		t.Fatalf("peek after exit: %q, %v", text, err)
	}
	if l, err := runtime.ObserveLiveness(ctx, f, "a", []string{"x"}); err != nil || l != runtime.Gone {
		t.Fatalf("liveness: %v, %v", l, err)
	}
}

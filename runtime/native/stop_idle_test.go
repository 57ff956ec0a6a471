package native_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// TestStopIdle: a session that took a message since it was found idle is not stopped, here
// or on a machine whose clock differs.
func TestStopIdle(t *testing.T) {
	for name, p := range map[string]*native.Provider{
		"here":  newBackend(t).provider(t),
		"there": slowBackend(t),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			start(t, p, "s", runtime.Config{Command: "stty -echo; echo up; exec cat >/dev/null"})
			if _, err := p.WaitFor(ctx, "s", []runtime.Condition{{Text: "up"}}); err != nil {
				t.Fatal(err)
			}
			var stopper runtime.IdleStopper = p
			was := lastActivity(t, p)
			if err := p.SendKeys(ctx, "s", "Enter"); err != nil {
				t.Fatal(err)
			}
			if err := stopper.StopIdle(ctx, "s", was); !errors.Is(err, runtime.ErrActive) {
				t.Fatalf("after input: %v", err)
			}
			if yes, err := p.IsRunning(ctx, "s"); !yes || err != nil {
				t.Fatalf("runs: %v, %v", yes, err)
			}
			if err := stopper.StopIdle(ctx, "s", lastActivity(t, p)); err != nil {
				t.Fatal(err)
			}
			if yes, err := p.IsRunning(ctx, "s"); yes || err != nil {
				t.Errorf("stopped: %v, %v", yes, err)
			}
			if err := stopper.StopIdle(ctx, "s", was); err != nil {
				t.Errorf("none: %v", err)
			}
		})
	}
}

func lastActivity(t *testing.T, p *native.Provider) time.Time {
	t.Helper()
	at, err := p.GetLastActivity(context.WithoutCancel(t.Context()), "s")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// slowBackend is a machine whose clock is an hour slow.
func slowBackend(t *testing.T) *native.Provider {
	b := newFarBackend(t)
	return b.over(t, native.Options{Machine: slow{far.NewClient("ssh://there", b.cable), -time.Hour}})
}

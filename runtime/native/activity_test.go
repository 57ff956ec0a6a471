package native_test

import (
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

// A question is shown, answered once, and disappears.
func TestPendingAndRespond(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	ctx := t.Context()
	var _ runtime.ActivityProvider = p
	var _ runtime.InteractionProvider = p
	start(t, p, "a", runtime.Config{Command: `printf 'Remove it?\n> 1. Yes\n  2. No\n'; read x; printf '\033[2J\033[Hanswered\nagent> '; exec cat`})
	if i, err := p.WaitFor(ctx, "a", []runtime.Condition{{Idle: true}, {Blocked: true}}); i != 1 || err != nil {
		t.Fatal(i, err)
	}
	q, err := p.Pending(ctx, "a")
	if err != nil || q == nil || q.Kind != runtime.BlockedPermission || q.Prompt != "Remove it?" || len(q.Options) != 2 {
		t.Fatalf("%+v, %v", q, err)
	}
	a, err := p.Activity(ctx, "a")
	if err != nil || a.State != runtime.ActivityBlocked || a.Pending.RequestID != q.RequestID || len(a.Sources) == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	if err := p.Respond(ctx, "a", runtime.Answer{RequestID: "another", Action: "Yes"}); !errors.Is(err, api.ErrQuestion) {
		t.Fatal(err)
	}
	if err := p.Respond(ctx, "a", runtime.Answer{RequestID: q.RequestID, Text: "yes"}); !errors.Is(err, runtime.ErrInteractionUnsupported) {
		t.Fatal(err)
	}
	if err := p.Respond(ctx, "a", runtime.Answer{RequestID: q.RequestID, Action: "Yes"}); err != nil {
		t.Fatal(err)
	}
	if q, err := p.Pending(ctx, "a"); q != nil || err != nil {
		t.Fatalf("%+v, %v", q, err)
	}
	if err := p.Stop(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Pending(ctx, "a"); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Fatal(err)
	}
}

// An agent that reports done takes messages until its next turn, and is done until a
// person has seen it.
func TestDoneIsIdleWithNews(t *testing.T) {
	p := newBackend(t).provider(t)
	ctx := t.Context()
	var _ runtime.SeenProvider = p
	start(t, p, "a", runtime.Config{Command: `printf '\033]7501;state=done\033\\'; exec cat`})
	for _, want := range []string{runtime.ActivityDone, runtime.ActivityIdle} {
		if err := p.WaitForIdle(ctx, "a", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if a, err := p.Activity(ctx, "a"); err != nil || a.State != want {
			t.Fatalf("%+v, %v, want %s", a, err, want)
		}
		if err := p.Seen(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Seen(ctx, "nobody"); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Fatal(err)
	}
}

// The ready prefix of a start makes a session idle, also after a relaunch.
func TestIdleByTheReadyPrefix(t *testing.T) {
	p := newBackend(t).provider(t)
	ctx := t.Context()
	start(t, p, "a", runtime.Config{Command: "printf 'agent> '; exec cat", ReadyPromptPrefix: "agent> "})
	for range 2 {
		if err := p.WaitForIdle(ctx, "a", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if a, err := p.Activity(ctx, "a"); err != nil || a.State != runtime.ActivityIdle || a.Source != "ready" {
			t.Fatalf("%+v, %v", a, err)
		}
		if err := p.Relaunch(ctx, "a", runtime.Config{Command: "printf 'agent> '; exec cat"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Stop(ctx, "a"); err != nil {
		t.Fatal(err)
	}
}

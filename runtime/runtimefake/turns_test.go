package runtimefake_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

func TestTurns(t *testing.T) {
	ctx, f := context.Background(), runtimefake.New()
	if _, err := f.AwaitTurn(ctx, "s", 0); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("without a session: %v", err)
	}
	f.SetConversation("s", "c1")
	if err := f.Start(ctx, "s", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	if id, err := f.Conversation(ctx, "s"); id != "c1" || err != nil {
		t.Errorf("conversation %q, %v", id, err)
	}
	f.EndTurn("s", runtime.Turn{ID: "m1"})
	f.EndTurn("s", runtime.Turn{ID: "m2"})
	if turn, err := f.AwaitTurn(ctx, "s", 0); turn.N != 2 || turn.ID != "m2" || err != nil {
		t.Errorf("turn %+v, %v", turn, err)
	}
	if err := f.SetMode(ctx, "s", "auto", ""); err != nil {
		t.Error(err)
	}
	if err := f.SetMode(ctx, "s", "atuo", ""); err == nil || !strings.Contains(err.Error(), "valid values") {
		t.Errorf("unknown mode: %v", err)
	}
	f.Exit("s", 0)
	if _, err := f.AwaitTurn(ctx, "s", 2); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("after the end: %v", err)
	}
}

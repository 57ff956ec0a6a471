package server

import (
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

// TestKillUnchanged: a session that took input since it was looked at is not ended, and one
// that is being ended takes none.
func TestKillUnchanged(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "s", `trap 'echo asked; sleep 1000' TERM; trap '' HUP; stty -echo; echo ready; while :; do read y; done`)
	await(t, c, "s", "^ready")
	was, err := c.Get(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Keys(t.Context(), "s", []string{"x"}, true); err != nil {
		t.Fatal(err)
	}
	if err := c.KillUnchanged(t.Context(), was, 0); !errors.Is(err, api.ErrActive) {
		t.Fatalf("after input: %v", err)
	}
	is, err := c.Get(t.Context(), "s")
	if err != nil || is.State != api.StateRunning {
		t.Fatalf("%+v, %v", is, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.KillUnchanged(t.Context(), is, 3*time.Second) }()
	await(t, c, "s", "^asked")
	if err := c.Keys(t.Context(), "s", []string{"y"}, true); !errors.Is(err, api.ErrExited) {
		t.Errorf("input meanwhile: %v", err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	awaitNone(t, c, "s")
	if err := c.KillUnchanged(t.Context(), is, 0); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
}

package server

import (
	"errors"
	"testing"

	"gascity.dev/gc/mux/api"
)

// TestKillDuringCreate: a session that is killed while it is being created does not
// run afterwards. Its keeper is stopped meanwhile, so that the creation is under way.
func TestKillDuringCreate(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "first", "sleep 1000") // starts the keeper
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	thaw := freeze(t, status.Keeper.PID)
	created := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := c.Create(t.Context(), api.CreateRequest{Name: "second", Command: "sleep 1000", Env: testEnv})
			created <- err
		}()
	}
	if err := <-created; !errors.Is(err, api.ErrExists) { // the other is under way
		t.Fatal(err)
	}
	killed := make(chan error, 1)
	go func() { killed <- c.Kill(t.Context(), "second", 0) }()
	if _, err := c.List(t.Context(), "", true); err != nil {
		t.Fatal(err)
	}
	thaw()
	if err := <-killed; err != nil {
		t.Errorf("kill: %v", err)
	}
	if err := <-created; err != nil {
		t.Errorf("create: %v", err)
	}
	running, err := c.List(t.Context(), "second", false)
	if err != nil || len(running) != 0 {
		t.Errorf("it runs: %+v, %v", running, err)
	}
}

// TestGetDuringCreate: a session that is being created is not reported as missing: the
// reply waits. A provider whose start was cut short would otherwise leave it running.
func TestGetDuringCreate(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "first", "sleep 1000") // starts the keeper
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	thaw := freeze(t, status.Keeper.PID)
	created := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := c.Create(t.Context(), api.CreateRequest{Name: "second", Command: "sleep 1000", Env: testEnv})
			created <- err
		}()
	}
	if err := <-created; !errors.Is(err, api.ErrExists) { // the other is under way
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), "second")
		got <- err
	}()
	if _, err := c.Get(t.Context(), "third"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a name that is free: %v", err)
	}
	thaw()
	if err := <-got; err != nil {
		t.Errorf("get: %v", err)
	}
	if err := <-created; err != nil {
		t.Errorf("create: %v", err)
	}
}

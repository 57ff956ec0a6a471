package controller

import (
	"context"
	"testing"
	"testing/synctest"

	"gascity.dev/gc/internal/controller/api"
)

// A restart in the middle of another operation is not lost.
func TestRestartWaitsForTheOperation(t *testing.T) {
	for _, busy := range []string{"SetMeta", "RemoveMeta"} { // a drain begins and is cancelled
		bubble(t, oneAgent, func(r *rig) {
			r.start()
			if busy == "SetMeta" {
				r.fake.Hang(busy, "gc-city-a", true)
			}
			if err := r.l.calls.SetSuspended(context.Background(), []string{"a"}, true); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if busy == "RemoveMeta" {
				r.fake.Hang(busy, "gc-city-a", true)
			}
			if err := r.l.calls.SetSuspended(context.Background(), []string{"a"}, false); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- r.l.calls.Restart(context.Background(), []string{"a"}) }()
			synctest.Wait()
			if n := len(r.fake.CallsOf("Stop", "gc-city-a")); n != 0 {
				t.Errorf("%d stops while %s is under way", n, busy)
			}
			r.fake.Hang(busy, "gc-city-a", false)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if n := len(r.fake.CallsOf("Start", "gc-city-a")); n != 2 {
				t.Errorf("%d starts", n)
			}
			r.wantState("a", api.StateRunning)
			r.end()
		})
	}
}

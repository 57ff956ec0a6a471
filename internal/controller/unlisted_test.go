package controller

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// A backend that cannot list its sessions has not lost them: each is queried
// alone, a crash is still found, and a stop stops.
func TestBackendThatCannotList(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"10s\"\nshutdown_timeout = \"5s\"\n"+oneAgent, func(r *rig) {
		r.fake.Fail("ListRunning", "", fmt.Errorf("script: %w", runtime.ErrUnsupported))
		r.start()
		r.wantState("a", api.StateRunning)
		time.Sleep(5 * time.Minute)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || r.starts("gc-city-a") != 1 {
			t.Errorf("%d starts, status %+v; log:\n%s", r.starts("gc-city-a"), a, r.log)
		}
		r.fake.DropSubscribers()
		r.fake.Vanish("gc-city-a")
		time.Sleep(11 * time.Second)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
			t.Errorf("a crash was not found: %+v", a)
		}
		r.l.post(r.l.shutdown.begin)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(r.fake.CallsOf("Stop", "gc-city-a")) == 0 {
			t.Error("the stop never called Stop")
		}
		if up, err := r.fake.IsRunning(t.Context(), "gc-city-a"); up || err != nil {
			t.Errorf("after the stop: running %v, %v", up, err)
		}
	})
}

package controller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// A backend that fails starts is retried ever more slowly, and the restart
// budget stays untouched.
func TestBackendFailureBacksOff(t *testing.T) {
	for _, failure := range []error{runtime.ErrBackendUnreachable, runtime.ErrSessionInitializing, runtime.ErrBackendBusy} {
		t.Run(failure.Error(), func(t *testing.T) {
			bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent, func(r *rig) {
				r.fake.Fail("Start", "", fmt.Errorf("start: %w", failure))
				r.start()
				time.Sleep(10 * time.Minute)
				a := r.status("a")
				if n := r.starts("gc-city-a"); n < 8 || n > 20 {
					t.Errorf("%d starts in 10 minutes", n)
				}
				if a.State == api.StateQuarantined || a.Restarts != 0 || a.RetryAt == nil || a.Error == "" {
					t.Errorf("while it fails: %+v", a)
				}
				r.fake.Fail("Start", "", nil)
				time.Sleep(time.Minute)
				if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || a.RetryAt != nil || a.Error != "" {
					t.Errorf("once it works: %+v", a)
				}
				r.fake.Exit("gc-city-a", 1)
				if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
					t.Errorf("its one restart is left to it: %+v", a)
				}
				r.end()
			})
		})
	}
}

// While the backend does not reply, the agent is queried again before the next
// patrol, by this controller and the next.
func TestBackendThatComesBack(t *testing.T) {
	for name, restart := range map[string]bool{"the same controller": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, "[daemon]\nmax_restarts = 1\npatrol_interval = \"1h\"\n"+oneAgent, func(r *rig) {
				r.start()
				r.fake.Fail("Start", "", runtime.ErrBackendUnreachable)
				r.fake.Fail("ListRunning", "", runtime.ErrBackendUnreachable)
				r.fake.Exit("gc-city-a", 1)
				time.Sleep(3 * time.Minute)
				r.wantState("a", api.StateUnknown)
				if restart {
					r.end()
					r.start()
				}
				r.fake.Fail("Start", "", nil)
				r.fake.Fail("ListRunning", "", nil)
				time.Sleep(2 * time.Minute)
				if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
					t.Errorf("one crash is one restart: %+v", a)
				}
				r.end()
			})
		})
	}
}

// Queries that fail while the agent waits for its next start do not delay that: a machine
// that was away for seconds is not waited for much longer.
func TestFailedQueriesDoNotDelayAStart(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\npatrol_interval = \"200ms\"\n"+oneAgent, func(r *rig) {
		r.fake.Fail("Start", "", runtime.ErrBackendUnreachable)
		r.start()
		r.fake.Fail("ListRunning", "", runtime.ErrBackendUnreachable)
		time.Sleep(5 * time.Second)
		r.fake.Fail("Start", "", nil)
		r.fake.Fail("ListRunning", "", nil)
		time.Sleep(5 * time.Second)
		r.wantState("a", api.StateRunning)
		r.end()
	})
}

// A restart by a person observes and starts at once.
func TestRestartAfterTheBackendFailed(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.fake.FailTimes("Start", "", runtime.ErrBackendUnreachable, 4)
		r.start()
		time.Sleep(10 * time.Second)
		if n := r.starts("gc-city-a"); n != 4 {
			t.Fatalf("%d starts", n)
		}
		if err := r.l.calls.Restart(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || a.LastExit != nil {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

// A job whose start the backend failed may still run.
func TestBackendFailureOfAJob(t *testing.T) {
	bubble(t, oneJob, func(r *rig) {
		r.fake.FailTimes("Start", "", runtime.ErrSessionInitializing, 3)
		r.start()
		time.Sleep(time.Minute)
		var name string
		for name = range r.states() {
		}
		if a := r.wantState(name, api.StateRunning); a.LastExit != nil {
			t.Errorf("%+v", a)
		}
		if n := len(r.fake.CallsOf("Start", "")); n != 4 {
			t.Errorf("%d starts", n)
		}
		r.end()
	})
}

// A session that another provider hosts has not crashed.
func TestChangeOfProviderIsNotACrash(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent, func(r *rig) {
		r.start(func(o *Options) { o.ProviderName = "tmux" })
		r.wantState("a", api.StateRunning)
		r.end()
		r.fake = runtimefake.New()
		r.start(func(o *Options) { o.ProviderName = "native" })
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || a.LastExit != nil {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
)

const suspendCity = `
[daemon]
drift_drain_timeout = "5s"
patrol_interval = "10s"
[[rigs]]
name = "east"
path = "."
[[agents]]
name = "a"
start_command = "a"
[[agents]]
name = "b"
dir = "east"
start_command = "b"
[[agents]]
name = "off"
start_command = "off"
suspended = true
`

// Suspensions are independent, survive controllers and gc stop, and a resume
// affects only what was suspended.
func TestSuspendOfCityRigAndAgent(t *testing.T) {
	bubble(t, suspendCity, func(r *rig) {
		ctx := context.Background()
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		by := func(name, want string) {
			t.Helper()
			if got := r.status(name).SuspendedBy; got != want {
				t.Errorf("%s is suspended by %q, want %q", name, got, want)
			}
		}
		r.start()
		by("off", api.ByConfig)
		do(r.l.calls.SetRigsSuspended(ctx, []string{"east"}, true))
		r.wantState("a", api.StateRunning)
		r.wantState("east/b", api.StateDraining)
		time.Sleep(5 * time.Second)
		r.wantState("east/b", api.StateSuspended)
		by("east/b", api.ByRig+" east")
		if err := r.l.calls.SetRigsSuspended(ctx, []string{"east", "west"}, false); !errors.Is(err, api.ErrUnknownRig) || api.Hint(err) == "" {
			t.Errorf("a rig that is not there: %v", err)
		}
		r.wantState("east/b", api.StateSuspended)
		do(r.l.calls.SetSuspended(ctx, nil, true))
		do(r.l.calls.SetSuspended(ctx, []string{"a"}, true))
		time.Sleep(5 * time.Second)
		r.wantState("a", api.StateSuspended)
		by("east/b", api.ByCity)

		r.l.post(r.l.shutdown.begin) // gc stop, and another gc start
		do(<-r.result)
		r.start()
		r.wantState("a", api.StateSuspended)
		do(r.l.calls.SetSuspended(ctx, nil, false))
		r.wantState("a", api.StateSuspended)
		by("a", api.ByAgent)
		by("east/b", api.ByRig+" east")
		do(r.l.calls.SetRigsSuspended(ctx, []string{"east"}, false))
		do(r.l.calls.SetSuspended(ctx, []string{"a", "off"}, false))
		r.wantState("a", api.StateRunning)
		r.wantState("east/b", api.StateRunning)
		r.wantState("off", api.StateSuspended)
		by("off", api.ByConfig)
		r.end()
	})
}

// The suspension of a pool covers members that its check asks for later.
func TestSuspendOfAPool(t *testing.T) {
	bubble(t, poolCity, func(r *rig) {
		ctx := context.Background()
		r.poolSize("1")
		r.start()
		r.wantState("w-1", api.StateRunning)
		if err := r.l.calls.SetSuspended(ctx, []string{"w"}, true); err != nil {
			t.Fatal(err)
		}
		r.poolSize("3")
		time.Sleep(3 * time.Minute)
		r.wantState("w-1", api.StateSuspended)
		if n := r.starts("gc-city-w-3"); n != 0 {
			t.Errorf("a member of a suspended pool was started %d times", n)
		}
		if err := r.l.calls.SetSuspended(ctx, []string{"w"}, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		r.wantState("w-1", api.StateRunning)
		r.wantState("w-3", api.StateRunning)
		r.end()
	})
}

// An agent that was asked to drain ends, does not count as crashed, and stays
// down until that is undone; a drain in progress is cancelled.
func TestDrainOnRequest(t *testing.T) {
	bubble(t, suspendCity, func(r *rig) {
		ctx := context.Background()
		drain := func(on bool) {
			t.Helper()
			if err := r.l.calls.SetDrained(ctx, []string{"a"}, on); err != nil {
				t.Fatal(err)
			}
		}
		r.start()
		drain(true)
		r.wantState("a", api.StateDraining)
		drain(false)
		r.wantState("a", api.StateRunning)
		drain(true)
		r.wantState("a", api.StateDraining)
		r.fake.Exit("gc-city-a", 0)
		if a := r.wantState("a", api.StateStopped); a.Restarts != 0 || a.LastExit == nil {
			t.Errorf("status %+v", a)
		}
		time.Sleep(time.Minute)
		if n := r.starts("gc-city-a"); n != 1 {
			t.Errorf("%d starts, want the first alone", n)
		}
		drain(false)
		r.wantState("a", api.StateRunning)
		if err := r.l.calls.SetDrained(ctx, nil, true); !errors.Is(err, api.ErrUnknownAgent) {
			t.Errorf("a drain of nobody: %v", err)
		}
		r.end()
	})
}

// The interrupt of a cancelled drain may still end the agent: that is not a
// crash, and the agent is started again.
func TestExitAfterACancelledDrainIsNotACrash(t *testing.T) {
	bubble(t, suspendCity, func(r *rig) {
		r.start()
		for _, on := range []bool{true, false} {
			if err := r.l.calls.SetSuspended(context.Background(), []string{"a"}, on); err != nil {
				t.Fatal(err)
			}
			r.status("a")
		}
		r.wantState("a", api.StateRunning)
		time.Sleep(time.Second)
		r.fake.Exit("gc-city-a", 130)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || r.starts("gc-city-a") != 2 {
			t.Errorf("%d starts, %d restarts", r.starts("gc-city-a"), a.Restarts)
		}
		time.Sleep(time.Minute)
		r.fake.Exit("gc-city-a", 130)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
			t.Errorf("a crash later: %d restarts", a.Restarts)
		}
		r.end()
	})
}

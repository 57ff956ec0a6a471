package controller

import (
	"context"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// busyFake reports its sessions' activities.
type busyFake struct {
	*runtimefake.Fake
	mu    sync.Mutex
	doing map[string]runtime.Activity
	asked int // queries for all at once
}

func (b *busyFake) set(name, state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doing[name] = runtime.Activity{State: state}
}

func (b *busyFake) Activity(_ context.Context, name string) (runtime.Activity, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.doing[name], nil
}

func (b *busyFake) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	out := map[string]runtime.SessionActivity{}
	for _, n := range names {
		last, err := b.GetLastActivity(ctx, n)
		if err != nil {
			return nil, err
		}
		out[n] = runtime.SessionActivity{Activity: b.doing[n], Last: last}
	}
	return out, nil
}

func TestStatusShowsActivity(t *testing.T) {
	bubble(t, oneAgent+oneJob+"[[agents]]\nname = \"off\"\nstart_command = \"x\"\nsuspended = true\n", func(r *rig) {
		b := &busyFake{Fake: r.fake, doing: map[string]runtime.Activity{
			"gc-city-a": {State: runtime.ActivityBlocked, Kind: runtime.BlockedPermission, Source: "dialog", Pending: &runtime.Interaction{RequestID: "q1"}},
		}}
		r.start(func(o *Options) { o.Provider = b })
		r.fake.Exit("gc-city-job", 0)
		r.wantState("job", api.StateExited)
		now := time.Now()
		r.fake.SetActivity("gc-city-a", now)
		st, err := r.l.calls.Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b.asked != 1 {
			t.Errorf("%d questions", b.asked)
		}
		for _, a := range st.Agents {
			switch a.Name {
			case "a":
				if a.Activity != runtime.ActivityBlocked || a.ActivityInfo == nil || a.ActivityInfo.Pending.RequestID != "q1" || a.LastActivity == nil || !a.LastActivity.Equal(now) {
					t.Errorf("%+v", a)
				}
			case "job":
				if a.Activity != runtime.ActivityExited || a.ActivityInfo != nil || a.LastActivity != nil {
					t.Errorf("%+v", a)
				}
			case "off":
				if a.Activity != runtime.ActivityUnknown {
					t.Errorf("%+v", a)
				}
			}
		}
		r.end()
	})
}

// An agent that computes for hours without output is not idle if it says so.
func TestWorkingAgentIsNotPutToSleep(t *testing.T) {
	bubble(t, oneAgent+"idle_timeout = \"1m\"\n", func(r *rig) {
		b := &busyFake{Fake: r.fake, doing: map[string]runtime.Activity{"gc-city-a": {State: runtime.ActivityWorking}}}
		r.start(func(o *Options) { o.Provider = b })
		time.Sleep(10 * time.Minute)
		r.wantState("a", api.StateRunning)
		b.set("gc-city-a", runtime.ActivityIdle)
		time.Sleep(time.Minute)
		r.wantState("a", api.StateStopped)
		r.end()
	})
}

// However the wall clock jumps, a time of last activity is never older than the
// real time since it was first seen.
func TestIdleTimeIsNotTheWallClocks(t *testing.T) {
	ag := &agentState{}
	asked := time.Now()
	last := asked.Add(-10 * time.Second).Round(0)
	ag.noteQuiet(last, asked)
	if d := asked.Sub(ag.seen.LastActivity); d < 9*time.Second || d > 11*time.Second {
		t.Fatalf("quiet for %v", d)
	}
	first := ag.seen.LastActivity
	ag.noteQuiet(last, asked.Round(0).Add(5*time.Hour)) // the clock is set forward
	if ag.seen.LastActivity != first {
		t.Errorf("quiet since %v, was %v", ag.seen.LastActivity, first)
	}
	ag.noteQuiet(asked.Add(time.Hour).Round(0), asked) // and back, after some output
	if !ag.seen.LastActivity.Equal(asked) {
		t.Errorf("active in the future: %v", ag.seen.LastActivity)
	}
}

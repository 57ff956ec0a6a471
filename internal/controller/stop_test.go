package controller

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

func TestForeignSessionIsNeverTouched(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		if err := r.fake.Start(t.Context(), "gc-city-a", runtime.Config{}); err != nil {
			t.Fatal(err)
		}
		if err := r.fake.SetMeta(t.Context(), "gc-city-a", agent.MetaCityPath, "/another/city"); err != nil {
			t.Fatal(err)
		}
		if err := r.fake.Start(t.Context(), "mine", runtime.Config{}); err != nil {
			t.Fatal(err)
		}
		r.start()
		a := r.wantState("a", api.StateUnknown)
		if a.Error == "" || r.starts("gc-city-a") != 1 {
			t.Errorf("status %+v", a)
		}
		n := r.queue(api.QueueRequest{Agent: "a", Text: "hello", Immediate: true})
		if err := r.l.calls.Restart(context.Background(), []string{"a"}); err == nil || !strings.Contains(err.Error(), api.ErrForeign.Error()) {
			t.Errorf("restart: %v", err)
		}
		time.Sleep(time.Hour)
		if got := r.nudge(n.ID); got.State != session.NudgeQueued || got.Detail != api.ErrForeign.Error() || got.SessionID != "" {
			t.Errorf("nudge %+v", got)
		}
		r.l.post(r.l.shutdown.begin)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		if len(r.fake.CallsOf("Stop", "")) != 0 || len(r.fake.CallsOf("Interrupt", "")) != 0 || len(r.fake.CallsOf("Nudge", "")) != 0 {
			t.Errorf("another's session was touched: %v", r.fake.Calls())
		}
	})
}

func TestOrphanOfThisCityIsDrainedThenStopped(t *testing.T) {
	bubble(t, "[daemon]\ndrift_drain_timeout = \"10s\"\n"+oneAgent, func(r *rig) {
		if err := r.fake.Start(t.Context(), "old", runtime.Config{}); err != nil {
			t.Fatal(err)
		}
		if err := r.fake.SetMeta(t.Context(), "old", agent.MetaCityPath, r.options().City.Dir); err != nil {
			t.Fatal(err)
		}
		r.start()
		if r.fake.MetaOf("old")[agent.MetaDrain] == "" || len(r.fake.CallsOf("Interrupt", "old")) != 1 {
			t.Errorf("the orphan is not drained; log:\n%s", r.log)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if len(r.fake.CallsOf("Stop", "old")) != 0 {
			t.Error("stopped before the drain was over")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(r.fake.CallsOf("Stop", "old")) != 1 {
			t.Errorf("the orphan was not stopped; log:\n%s", r.log)
		}
		r.end()
	})
}

func TestDependenciesStartFirst(t *testing.T) {
	bubble(t, `
[[agents]]
name = "web"
start_command = "web"
depends_on = ["db"]
[[agents]]
name = "db"
start_command = "db"
`, func(r *rig) {
		r.fake.Hang("Start", "gc-city-db", true)
		r.start()
		if r.starts("gc-city-web") != 0 {
			t.Error("web started before db")
		}
		if a := r.status("web"); a.WaitsFor != "db" {
			t.Errorf("web waits for %q", a.WaitsFor)
		}
		r.fake.Hang("Start", "gc-city-db", false)
		r.wantState("web", api.StateRunning)
		r.end()
	})
}

func TestStopByAPersonIsNeitherCountedNorUndone(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		if err := r.l.calls.StopAgents(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if a := r.wantState("a", api.StateStopped); a.Restarts != 0 {
			t.Errorf("counted: %+v", a)
		}
		r.end()
		r.start() // restarting the controller does not undo it
		r.wantState("a", api.StateStopped)
		if err := r.l.calls.SetSuspended(context.Background(), []string{"a"}, false); err != nil {
			t.Fatal(err)
		}
		r.wantState("a", api.StateRunning)
		r.end()
	})
}

// stopWhile runs one agent of a city with a shutdown_timeout of 4 s, stops the
// city while the agent is in the given state, and returns how long the stop
// took.
func stopWhile(t *testing.T, state string, meanwhile func(r *rig, b *busyFake)) (took time.Duration, calls []runtimefake.Call) {
	bubble(t, "[daemon]\nshutdown_timeout = \"4s\"\n"+oneAgent, func(r *rig) {
		b := &busyFake{Fake: r.fake, doing: map[string]runtime.Activity{}}
		b.set("gc-city-a", state)
		r.start(func(o *Options) { o.Provider = b })
		began := time.Now()
		if meanwhile != nil {
			go meanwhile(r, b)
		}
		r.l.post(r.l.shutdown.begin)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		took, calls = time.Since(began), r.fake.Calls()
	})
	return took, calls
}

func called(calls []runtimefake.Call, method string) (list []runtimefake.Call) {
	for _, c := range calls {
		if c.Method == method {
			list = append(list, c)
		}
	}
	return list
}

func TestStopGivesAWorkingAgentTimeToEnd(t *testing.T) {
	took, calls := stopWhile(t, runtime.ActivityWorking, func(r *rig, b *busyFake) {
		if _, err := r.fake.AwaitCalls(context.Background(), "Interrupt", "gc-city-a", 1); err == nil {
			time.Sleep(time.Second)
			r.fake.Exit("gc-city-a", 0)
		}
	})
	if took != time.Second || len(called(calls, "Stop")) != 0 {
		t.Errorf("stop took %v, the agent needed 1s; %v", took, called(calls, "Stop"))
	}
}

// An agent whose turn ends with the interrupt stays at its prompt until the
// hangup.
func TestStopHangsUpWhenTheTurnHasEnded(t *testing.T) {
	took, calls := stopWhile(t, runtime.ActivityWorking, func(r *rig, b *busyFake) {
		if _, err := r.fake.AwaitCalls(context.Background(), "Interrupt", "gc-city-a", 1); err == nil {
			time.Sleep(100 * time.Millisecond)
			b.set("gc-city-a", runtime.ActivityIdle)
		}
	})
	if stops := called(calls, "Stop"); took > 200*time.Millisecond || len(stops) != 1 || stops[0].Grace < 3*time.Second {
		t.Errorf("stop took %v: %v", took, stops)
	}
}

func TestStopWaitsForAStubbornTurnHalfOfTheTime(t *testing.T) {
	took, calls := stopWhile(t, runtime.ActivityWorking, nil)
	if stops := called(calls, "Stop"); took != 2*time.Second || len(stops) != 1 || stops[0].Grace != 2*time.Second {
		t.Errorf("stop took %v: %v", took, stops)
	}
}

func TestStopDoesNotInterruptAnIdleAgent(t *testing.T) {
	for _, state := range []string{runtime.ActivityIdle, runtime.ActivityDone, runtime.ActivityBlocked} {
		took, calls := stopWhile(t, state, nil)
		if took != 0 || len(called(calls, "Interrupt")) != 0 || len(called(calls, "Stop")) != 1 {
			t.Errorf("%s: stop took %v: %v", state, took, calls)
		}
	}
}

func TestStopWaitsShortlyForUnknownActivity(t *testing.T) {
	took, calls := stopWhile(t, runtime.ActivityUnknown, nil)
	if took != politeTime || len(called(calls, "Interrupt")) != 1 || len(called(calls, "Stop")) != 1 {
		t.Errorf("stop took %v: %v", took, calls)
	}
}

// The end of a city waits for a backend that comes back in time.
func TestStopTriesAgain(t *testing.T) {
	for _, away := range []time.Duration{time.Second, time.Minute} {
		bubble(t, "[daemon]\nshutdown_timeout = \"4s\"\n"+oneAgent, func(r *rig) {
			r.start()
			for _, method := range []string{"ListRunning", "GetMeta", "Stop"} {
				r.fake.Fail(method, "", runtime.ErrBackendUnreachable)
				time.AfterFunc(away, func() { r.fake.Fail(method, "", nil) })
			}
			began := time.Now()
			r.l.post(r.l.shutdown.begin)
			err := <-r.result
			if took := time.Since(began); away == time.Second && (err != nil || took > 2*time.Second) || away == time.Minute && (!errors.Is(err, runtime.ErrBackendUnreachable) || took > 4*time.Second) {
				t.Errorf("away for %v: %v after %v", away, err, took)
			}
			time.Sleep(away)
		})
	}
}

func TestASecondStopKills(t *testing.T) {
	took, calls := stopWhile(t, runtime.ActivityWorking, func(r *rig, b *busyFake) {
		if _, err := r.fake.AwaitCalls(context.Background(), "Interrupt", "gc-city-a", 1); err == nil {
			r.l.post(func() { r.l.shutdown.within(0) })
		}
	})
	stops := called(calls, "Stop")
	if took != 0 || !slices.ContainsFunc(stops, func(c runtimefake.Call) bool { return c.Grace == 0 }) {
		t.Errorf("stop took %v: %v", took, stops)
	}
}

func TestStopEndsTheRestInReverseOrder(t *testing.T) {
	bubble(t, `
[daemon]
shutdown_timeout = "3s"
[[agents]]
name = "web"
start_command = "web"
depends_on = ["db"]
[[agents]]
name = "db"
start_command = "db"
`, func(r *rig) {
		r.start()
		r.wantState("web", api.StateRunning)
		began := time.Now()
		r.l.post(r.l.shutdown.begin)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != politeTime {
			t.Errorf("stop took %v", d)
		}
		var order []string
		for _, c := range r.fake.CallsOf("Stop", "") {
			order = append(order, c.Session)
		}
		if strings.Join(order, " ") != "gc-city-web gc-city-db" {
			t.Errorf("stopped in the order %v", order)
		}
	})
}

func TestStopDoesNotEndANewerInstance(t *testing.T) {
	bubble(t, "[daemon]\nshutdown_timeout = \"1s\"\n"+oneAgent, func(r *rig) {
		r.start()
		if err := r.fake.SetMeta(t.Context(), "gc-city-a", agent.MetaToken, "newer"); err != nil {
			t.Fatal(err)
		}
		r.l.post(r.l.shutdown.begin)
		if err := <-r.result; !errors.Is(err, errNewer) {
			t.Errorf("stop of a newer instance: %v", err)
		}
		if len(r.fake.CallsOf("Stop", "")) != 0 {
			t.Error("the newer instance was stopped")
		}
	})
}

func TestOnceReturnsAfterTheFirstReconcile(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start(func(o *Options) { o.Once = true })
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		if list, _ := r.fake.ListRunning(t.Context(), ""); len(list) != 1 {
			t.Errorf("running: %v", list)
		}
	})
}

func TestDamagedDatabaseIsNeverReplaced(t *testing.T) {
	r := newRig(t, oneAgent)
	if err := os.Mkdir(api.StateDir(r.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	path := api.DBPath(r.dir)
	if err := os.WriteFile(path, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), r.options())
	if !errors.Is(err, session.ErrCorrupt) || !strings.Contains(api.Hint(err), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, hint %q", err, api.Hint(err))
	}
	if b, _ := os.ReadFile(path); string(b) != "not a database" {
		t.Errorf("the file is %q now", b)
	}
	if r.starts("") != 0 {
		t.Error("agents were started")
	}
}

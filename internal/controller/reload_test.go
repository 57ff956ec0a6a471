package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// reload writes a new city.toml and has it read.
func (r *rig) reload(toml string) {
	r.t.Helper()
	r.write(toml)
	r.l.post(r.l.config.reload)
	synctest.Wait()
}

func (r *rig) states() map[string]api.State {
	r.t.Helper()
	synctest.Wait()
	out := map[string]api.State{}
	if err := r.l.do(context.Background(), func() {
		for _, a := range r.l.report.status().Agents {
			out[a.Name] = a.State
		}
	}); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func TestReloadStartsAndStopsAgents(t *testing.T) {
	bubble(t, "[daemon]\ndrift_drain_timeout = \"5s\"\n"+oneAgent, func(r *rig) {
		r.start()
		r.reload("[daemon]\ndrift_drain_timeout = \"5s\"\n" + strings.ReplaceAll(oneAgent, `"a"`, `"b"`))
		if diff := cmp.Diff(map[string]api.State{"a": api.StateDraining, "b": api.StateRunning}, r.states()); diff != "" {
			t.Errorf("states:\n%s\nlog:\n%s", diff, r.log)
		}
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff(map[string]api.State{"b": api.StateRunning}, r.states()); diff != "" {
			t.Errorf("states:\n%s", diff)
		}
		r.end()
	})
}

func TestBrokenFileKeepsTheOldConfig(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload("[[agents]]\nname = \"a\"\nnme = 1\n")
		var st api.Status
		if err := r.l.do(context.Background(), func() { st = r.l.report.status() }); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(st.ConfigError, `unknown key "nme"`) || st.Agents[0].State != api.StateRunning || r.starts("") != 1 {
			t.Errorf("status %+v", st)
		}
		r.reload(oneAgent)
		if err := r.l.do(context.Background(), func() { st = r.l.report.status() }); err != nil {
			t.Fatal(err)
		}
		if st.ConfigError != "" || r.starts("") != 1 {
			t.Errorf("after the repair: %+v, %d starts", st, r.starts(""))
		}
		r.end()
	})
}

func TestCoreDriftDrainsThenRestarts(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload(oneAgent + "env = {A = \"1\"}\n")
		r.wantState("a", api.StateDraining)
		if r.fake.MetaOf("gc-city-a")[agent.MetaDrain] == "" || len(r.fake.CallsOf("Interrupt", "gc-city-a")) != 1 {
			t.Error("the agent was not asked")
		}
		r.fake.Exit("gc-city-a", 0) // it obeys
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 {
			t.Errorf("a drain is not a crash: %+v", a)
		}
		cfg, _ := r.fake.ConfigOf("gc-city-a")
		if cfg.Env["A"] != "1" || len(r.fake.CallsOf("Stop", "")) != 0 {
			t.Errorf("env %v, %d stops", cfg.Env, len(r.fake.CallsOf("Stop", "")))
		}
		r.end()
	})
}

func TestDrainAckEndsTheDrain(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload(oneAgent + "env = {A = \"1\"}\n")
		r.wantState("a", api.StateDraining)
		if err := r.fake.SetMeta(t.Context(), "gc-city-a", agent.MetaDrainAck, "1"); err != nil {
			t.Fatal(err)
		}
		r.l.post(r.l.observer.poke) // as gc runtime drain-ack does
		r.wantState("a", api.StateRunning)
		if calls := r.fake.CallsOf("SetMeta", "gc-city-a"); !slices.ContainsFunc(calls, func(c runtimefake.Call) bool { return c.Key == agent.MetaDrained }) {
			t.Error("the status does not show that it was drained")
		}
		if r.starts("gc-city-a") != 2 {
			t.Errorf("%d starts", r.starts("gc-city-a"))
		}
		r.end()
	})
}

func TestDrainIsCancelledWhenWantedAgain(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload(oneAgent + "env = {A = \"1\"}\n")
		r.wantState("a", api.StateDraining)
		r.reload(oneAgent)
		r.wantState("a", api.StateRunning)
		if r.fake.MetaOf("gc-city-a")[agent.MetaDrain] != "" || r.starts("gc-city-a") != 1 {
			t.Errorf("metadata %v, %d starts", r.fake.MetaOf("gc-city-a"), r.starts("gc-city-a"))
		}
		r.end()
	})
}

func TestDriftIsPutOffWhileAPersonIsAttached(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.fake.SetAttached("gc-city-a", true)
		r.reload(oneAgent + "env = {A = \"1\"}\n")
		time.Sleep(time.Minute)
		r.wantState("a", api.StateRunning)
		r.fake.SetAttached("gc-city-a", false)
		time.Sleep(30 * time.Second)
		r.wantState("a", api.StateDraining)
		r.end()
	})
}

func TestLaunchDriftRelaunches(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload(strings.Replace(oneAgent, `"agent"`, `"agent --new"`, 1))
		r.wantState("a", api.StateRunning)
		if n := len(r.fake.CallsOf("Relaunch", "gc-city-a")); n != 1 || r.starts("gc-city-a") != 1 {
			t.Errorf("%d relaunches, %d starts", n, r.starts("gc-city-a"))
		}
		r.l.post(r.l.observer.observe)
		r.wantState("a", api.StateRunning)
		if n := len(r.fake.CallsOf("Relaunch", "gc-city-a")); n != 1 {
			t.Errorf("%d relaunches after the next look", n)
		}
		r.end()
	})
}

// A command and live commands that change together are both applied.
func TestLaunchAndLiveDriftTogether(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload(strings.Replace(oneAgent, `"agent"`, "\"agent --new\"\nsession_live = [\"true\"]", 1))
		r.wantState("a", api.StateRunning)
		n, live := len(r.fake.CallsOf("Relaunch", "gc-city-a")), r.fake.CallsOf("RunLive", "gc-city-a")
		if n != 1 || len(live) != 1 || r.starts("gc-city-a") != 1 {
			t.Fatalf("%d relaunches, %d times live commands, %d starts", n, len(live), r.starts("gc-city-a"))
		}
		if diff := cmp.Diff([]string{"true"}, live[0].Config.SessionLive); diff != "" {
			t.Error(diff)
		}
		r.end()
	})
}

func TestLaunchDriftWithoutRelaunchDrains(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.fake.Fail("Relaunch", "", runtime.ErrRelaunchUnsupported)
		r.start()
		r.reload(strings.Replace(oneAgent, `"agent"`, `"agent --new"`, 1))
		r.wantState("a", api.StateDraining)
		r.end()
	})
}

func TestLiveDriftRunsTheCommandsAlone(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload(oneAgent + "session_live = [\"true\"]\n")
		r.wantState("a", api.StateRunning)
		if n := len(r.fake.CallsOf("RunLive", "gc-city-a")); n != 1 || r.starts("gc-city-a") != 1 {
			t.Errorf("%d live runs, %d starts", n, r.starts("gc-city-a"))
		}
		r.end()
	})
}

func TestConfigChangeClearsQuarantine(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent, func(r *rig) {
		r.start()
		for range 2 {
			r.fake.Exit("gc-city-a", 1)
			synctest.Wait()
		}
		r.wantState("a", api.StateQuarantined)
		r.reload("[daemon]\nmax_restarts = 1\n" + strings.Replace(oneAgent, `"agent"`, `"agent --fixed"`, 1))
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 {
			t.Errorf("status %+v", a)
		}
		r.end()
	})
}

func TestIdleAgentIsPutToSleep(t *testing.T) {
	bubble(t, oneAgent+"idle_timeout = \"2m\"\n", func(r *rig) {
		r.start()
		time.Sleep(2*time.Minute - time.Second)
		r.wantState("a", api.StateRunning)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(r.fake.CallsOf("Interrupt", "gc-city-a")); n != 1 {
			t.Errorf("%d interrupts", n)
		}
		time.Sleep(5 * time.Second)
		r.wantState("a", api.StateStopped)
		time.Sleep(time.Hour)
		if a := r.wantState("a", api.StateStopped); a.Restarts != 0 {
			t.Errorf("status %+v", a)
		}
		if err := r.l.calls.SetSuspended(context.Background(), []string{"a"}, false); err != nil {
			t.Fatal(err)
		}
		r.wantState("a", api.StateRunning)
		r.end()
	})
}

func TestSuspendIsKeptOverAControllerRestart(t *testing.T) {
	bubble(t, "[daemon]\ndrift_drain_timeout = \"5s\"\n"+oneAgent, func(r *rig) {
		r.start()
		if err := r.l.calls.SetSuspended(context.Background(), nil, true); err != nil {
			t.Fatal(err)
		}
		r.wantState("a", api.StateDraining)
		time.Sleep(5 * time.Second)
		r.wantState("a", api.StateSuspended)
		r.l.post(r.l.shutdown.begin)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		r.start()
		r.wantState("a", api.StateSuspended)
		r.end()
	})
}

const poolCity = `
[daemon]
patrol_interval = "10s"
[[agents]]
name = "w"
start_command = "worker"
[agents.pool]
max = 4
check = "cat size"
drain_timeout = "1m"
[[agents]]
name = "boss"
start_command = "boss"
depends_on = ["w"]
`

func (r *rig) poolSize(text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "size"), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func TestPoolFollowsItsCheck(t *testing.T) {
	bubble(t, poolCity, func(r *rig) {
		r.poolSize("2\n")
		r.start()
		if diff := cmp.Diff(map[string]api.State{"w-1": api.StateRunning, "w-2": api.StateRunning, "boss": api.StateRunning}, r.states()); diff != "" {
			t.Fatalf("states:\n%s\nlog:\n%s", diff, r.log)
		}
		if a := r.status("w-1"); a.Pool != "w" || a.Session != "gc-city-w-1" {
			t.Errorf("member %+v", a)
		}
		r.poolSize("9") // more than max
		time.Sleep(10 * time.Second)
		if n := len(r.states()); n != 5 {
			t.Errorf("%d agents, want 4 members and one more", n)
		}
		r.poolSize("1")
		time.Sleep(10 * time.Second)
		if got := r.states(); got["w-1"] != api.StateRunning || got["w-2"] != api.StateDraining || got["w-4"] != api.StateDraining {
			t.Errorf("states %v", got)
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff(map[string]api.State{"w-1": api.StateRunning, "boss": api.StateRunning}, r.states()); diff != "" {
			t.Errorf("states:\n%s", diff)
		}
		r.end()
	})
}

// A new controller knows the size of a pool only after its check: until then no
// member is ended.
func TestPoolMembersAreKeptUntilTheCheckReturns(t *testing.T) {
	bubble(t, poolCity, func(r *rig) {
		r.poolSize("3")
		r.start()
		r.fake.Exit("gc-city-w-3", 1)
		r.wantState("w-3", api.StateRunning)
		r.end()

		gate := filepath.Join(r.dir, "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		r.write(strings.Replace(poolCity, "cat size", "read go < gate; cat size", 1))
		r.fake.ForgetCalls()
		open := make(chan error, 1)
		go func() {
			_, err := r.fake.AwaitCalls(context.Background(), "ListRunning", "", 2)
			for range 2 { // the result of the first observation was acted on
				err = errors.Join(err, r.l.do(context.Background(), func() {}))
			}
			open <- errors.Join(err, os.WriteFile(gate, []byte("go\n"), 0))
		}()
		r.start()
		if err := <-open; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(r.fake.CallsOf("Interrupt", "")) + len(r.fake.CallsOf("Stop", "")); n != 0 {
			t.Errorf("%d members were ended; log:\n%s", n, r.log)
		}
		if a := r.wantState("w-3", api.StateRunning); a.Restarts != 1 || r.starts("") != 0 {
			t.Errorf("%+v, %d starts", a, r.starts("gc-city-w-3"))
		}
		r.end()
	})
}

func TestFailingPoolCheckKeepsTheMinimum(t *testing.T) {
	for _, check := range []string{"exit 3", "echo many", "echo -1", "sleep 100"} {
		toml := strings.Replace(strings.Replace(poolCity, "cat size", check, 1), "max = 4", "max = 4\nmin = 1", 1)
		if check == "sleep 100" {
			continue // real time: see TestHangingCheckEndsWithItsContext
		}
		bubble(t, toml, func(r *rig) {
			r.start()
			if diff := cmp.Diff(map[string]api.State{"w-1": api.StateRunning, "boss": api.StateRunning}, r.states()); diff != "" {
				t.Errorf("%s: states:\n%s", check, diff)
			}
			if !strings.Contains(r.log.String(), "keeps its minimum of 1") {
				t.Errorf("%s: log %s", check, r.log)
			}
			st, err := r.l.calls.Status(context.Background())
			if err != nil || len(st.Pools) != 1 || st.Pools[0].Error == "" || st.Pools[0].Size != 1 {
				t.Errorf("%s: pools %+v, %v", check, st.Pools, err)
			}
			r.end()
		})
	}
}

func TestHangingCheckEndsWithItsContext(t *testing.T) {
	r := newRig(t, poolCity)
	list, err := agent.Build(r.options().City, agent.BuildOptions{Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := runHook(ctx, list[0], "sleep 100 & sleep 100"); err == nil || !strings.Contains(err.Error(), "timed out") {
		t.Errorf("error %v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestPoolHooksRun(t *testing.T) {
	bubble(t, strings.Replace(poolCity, "max = 4", "max = 4\non_boot = \"echo $GC_AGENT >> booted\"\non_death = \"echo $GC_AGENT >> died\"", 1), func(r *rig) {
		r.poolSize("1")
		r.start()
		r.wantState("w-1", api.StateRunning)
		r.fake.Exit("gc-city-w-1", 1)
		r.wantState("w-1", api.StateRunning)
		r.poolSize("0")
		time.Sleep(time.Hour) // its drain is over; hooks need real time
		r.status("boss")
		for file, want := range map[string]string{"booted": "w-1\nw-1\n", "died": "w-1\nw-1\n"} {
			if b, err := os.ReadFile(filepath.Join(r.dir, file)); err != nil || string(b) != want {
				t.Errorf("%s: %q, %v", file, b, err)
			}
		}
		r.end()
	})
}

func TestEventsAreASequenceForEver(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.fake.SetPeek("gc-city-a", "boom")
		r.fake.Exit("gc-city-a", 2)
		r.wantState("a", api.StateRunning)
		r.end()
		r.start()
		r.wantState("a", api.StateRunning)
		list, err := r.l.store.Events(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for i, e := range list {
			if e.Seq != uint64(i+1) {
				t.Errorf("event %d has number %d", i, e.Seq)
			}
			kinds = append(kinds, e.Kind)
			if e.Kind == api.EventCrashed && (e.Screen != "boom" || e.Exit == nil || e.Exit.Code != 2) {
				t.Errorf("crash event %+v", e)
			}
		}
		want := []string{"controller", "starting", "started", "crashed", "starting", "started", "controller", "controller", "adopted"}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("events:\n%s", diff)
		}
		if after, _ := r.l.store.Events(3, 2); len(after) != 2 || after[0].Seq != 4 {
			t.Errorf("after 3: %+v", after)
		}
		r.end()
	})
}

func TestActivityAfterTheLastLookIsSeen(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1h\"\n"+oneAgent+"idle_timeout = \"2m\"\n", func(r *rig) {
		r.start()
		time.Sleep(time.Minute)
		r.fake.SetActivity("gc-city-a", time.Now())
		time.Sleep(time.Minute) // the first observation is outdated
		r.wantState("a", api.StateRunning)
		time.Sleep(time.Minute + 5*time.Second)
		r.wantState("a", api.StateStopped)
		r.end()
	})
}

func TestRestartAskedFromInside(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		if err := r.fake.SetMeta(t.Context(), "gc-city-a", agent.MetaRestart, "1"); err != nil {
			t.Fatal(err)
		}
		r.l.post(r.l.observer.poke) // as gc runtime request-restart does
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || r.starts("gc-city-a") != 2 {
			t.Errorf("%d starts, status %+v", r.starts("gc-city-a"), a)
		}
		r.end()
	})
}

// An unchanged city costs one query, and one more for each agent with process
// names.
func TestPatrolAsksLittle(t *testing.T) {
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`) + "process_names = [\"agent\"]\n"
	bubble(t, two, func(r *rig) {
		r.start()
		r.wantState("b", api.StateRunning)
		r.fake.ForgetCalls()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		var got []string
		for _, c := range r.fake.Calls() {
			got = append(got, c.Method+" "+c.Session)
		}
		if diff := cmp.Diff([]string{"ListRunning ", "ProcessAlive gc-city-b"}, got); diff != "" {
			t.Errorf("calls of one patrol:\n%s", diff)
		}
		r.end()
	})
}

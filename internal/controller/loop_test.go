package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

const oneAgent = "[[agents]]\nname = \"a\"\nstart_command = \"agent\"\n"

func TestStartsAgentsWithTheirIdentity(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.wantState("a", api.StateRunning)
		meta := r.fake.MetaOf("gc-city-a")
		cfg, _ := r.fake.ConfigOf("gc-city-a")
		for _, k := range []string{"GC_SESSION_ID", "GC_RUNTIME_EPOCH", "GC_INSTANCE_TOKEN", "GC_CITY_PATH", "GC_AGENT"} {
			if meta[k] == "" || meta[k] != cfg.Env[k] {
				t.Errorf("%s: metadata %q, environment %q", k, meta[k], cfg.Env[k])
			}
		}
		for _, k := range []string{agent.MetaConfigHash, agent.MetaLaunchHash, agent.MetaProvisionHash, agent.MetaLiveHash} {
			if len(meta[k]) != 64 {
				t.Errorf("%s is %q", k, meta[k])
			}
		}
		if cfg.BaseEnv["HOME"] != "/home/me" || cfg.BaseEnv["SECRET"] != "" || cfg.Env["SECRET"] != "" {
			t.Errorf("base %v, env %v", cfg.BaseEnv, cfg.Env)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if list, _ := r.fake.ListRunning(t.Context(), ""); len(list) != 1 {
			t.Errorf("the agents must outlive the controller: %v", list)
		}
	})
}

func TestRestartsAtOnceAndCountsIt(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		before := time.Now()
		r.fake.SetPeek("gc-city-a", "panic: oh no")
		r.fake.Exit("gc-city-a", 7)
		a := r.wantState("a", api.StateRunning)
		if d := time.Since(before); d != 0 {
			t.Errorf("the restart waited %v", d)
		}
		if a.Restarts != 1 || a.LastExit == nil || a.LastExit.Code != 7 || !strings.Contains(a.LastScreen, "oh no") {
			t.Errorf("status %+v", a)
		}
		if r.starts("gc-city-a") != 2 {
			t.Errorf("%d starts", r.starts("gc-city-a"))
		}
		r.end()
	})
}

func TestQuarantineBacksOffAndIsCleared(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 2\n"+oneAgent, func(r *rig) {
		r.start()
		for range 3 {
			r.fake.Exit("gc-city-a", 1)
			synctest.Wait()
		}
		a := r.wantState("a", api.StateQuarantined)
		if r.starts("gc-city-a") != 3 {
			t.Fatalf("%d starts, want the first and two restarts", r.starts("gc-city-a"))
		}
		if a.RetryAt == nil || time.Until(*a.RetryAt) != time.Second {
			t.Fatalf("first try at %v", a.RetryAt)
		}
		for i, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			time.Sleep(wait*time.Second - time.Millisecond)
			synctest.Wait()
			if n := r.starts("gc-city-a"); n != 3+i {
				t.Fatalf("try %d came early: %d starts", i+1, n)
			}
			time.Sleep(time.Millisecond)
			r.wantState("a", api.StateRunning)
			r.fake.Exit("gc-city-a", 1)
			r.wantState("a", api.StateQuarantined)
		}
		if err := r.l.calls.Restart(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 {
			t.Errorf("gc restart must clear the budget: %+v", a)
		}
		r.end()
	})
}

// An agent does not fail by an eviction, a drain or a lost node.
func TestDisruptionsDoNotCount(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent, func(r *rig) {
		r.start()
		for i := range 5 {
			r.fake.ExitWith("gc-city-a", runtime.Exit{Code: -1, Reason: "Evicted: a volume is full", Disrupted: true, Time: time.Now()})
			a := r.wantState("a", api.StateRunning)
			if n := r.starts("gc-city-a"); n != 2+i || a.Restarts != 0 {
				t.Fatalf("after eviction %d: %d starts, %d restarts", i+1, n, a.Restarts)
			}
			if a.LastExit == nil || a.LastExit.Reason != "Evicted: a volume is full" {
				t.Errorf("exit %+v", a.LastExit)
			}
		}
		if n := len(r.events(api.EventCrashed)); n > 0 {
			t.Errorf("%d crashes", n)
		}
		r.fake.Exit("gc-city-a", 1)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
			t.Errorf("after a crash: %d restarts", a.Restarts)
		}
		r.end()
	})
}

func TestQuarantineSurvivesTheController(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent, func(r *rig) {
		r.start()
		for range 2 {
			r.fake.Exit("gc-city-a", 1)
			synctest.Wait()
		}
		r.wantState("a", api.StateQuarantined)
		r.end()
		r.start()
		a := r.wantState("a", api.StateQuarantined)
		if a.Restarts != 1 || r.starts("gc-city-a") != 2 {
			t.Errorf("restarts %d, starts %d", a.Restarts, r.starts("gc-city-a"))
		}
		time.Sleep(time.Second)
		r.wantState("a", api.StateRunning)
		r.end()
	})
}

// A start may fail of something that no fingerprint covers, such as pre_start.
func TestAnyChangeOfConfigClearsQuarantine(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent, func(r *rig) {
		r.start()
		for range 2 {
			r.fake.Exit("gc-city-a", 1)
			synctest.Wait()
		}
		r.wantState("a", api.StateQuarantined)
		r.reload("[daemon]\nmax_restarts = 1\n# only a comment\n" + oneAgent)
		r.wantState("a", api.StateQuarantined)
		r.reload("[daemon]\nmax_restarts = 1\n" + oneAgent + "pre_start = [\"true\"]\n")
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

func TestAdoptsRunningAgents(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.end()
		r.start()
		r.wantState("a", api.StateRunning)
		if n := r.starts("gc-city-a"); n != 1 {
			t.Errorf("%d starts", n)
		}
		r.fake.Exit("gc-city-a", 1)
		r.wantState("a", api.StateRunning)
		if n := r.starts("gc-city-a"); n != 2 {
			t.Errorf("%d starts", n)
		}
		r.end()
	})
}

func TestDeathWhileNoControllerRanIsCounted(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.end()
		r.fake.Exit("gc-city-a", 9)
		r.start()
		a := r.wantState("a", api.StateRunning)
		if a.Restarts != 1 || a.LastExit == nil || a.LastExit.Code != 9 {
			t.Errorf("status %+v", a)
		}
		r.end()
	})
}

func TestUnknownIsNotDead(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1s\"\n"+oneAgent+"process_names = [\"agent\"]\n", func(r *rig) {
		r.start()
		for _, method := range []string{"ListRunning", "ProcessAlive"} {
			r.fake.Fail(method, "", runtime.ErrBackendUnreachable)
			time.Sleep(5 * time.Second)
			a := r.status("a")
			want := api.StateRunning
			if method == "ListRunning" {
				want = api.StateUnknown // nothing is known at all
			}
			if a.State != want || a.Error == "" || r.starts("gc-city-a") != 1 || len(r.fake.CallsOf("Stop", "")) != 0 {
				t.Errorf("%s fails: %+v", method, a)
			}
			r.fake.Fail(method, "", nil)
		}
		time.Sleep(2 * time.Second)
		if a := r.wantState("a", api.StateRunning); a.Error != "" {
			t.Errorf("the error stays: %+v", a)
		}
		r.end()
	})
}

func TestBackendUnreachableAtTheStart(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1s\"\n"+oneAgent, func(r *rig) {
		r.fake.Fail("ListRunning", "", runtime.ErrBackendUnreachable)
		r.start()
		r.wantState("a", api.StateUnknown)
		if r.starts("") != 0 {
			t.Error("started on an error")
		}
		r.fake.Fail("ListRunning", "", nil)
		time.Sleep(2 * time.Second)
		r.wantState("a", api.StateRunning)
		r.end()
	})
}

func TestZombieIsStoppedAndRestartedWithinBudget(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1s\"\n"+oneAgent+"process_names = [\"agent\"]\n", func(r *rig) {
		r.start()
		r.fake.SetPeek("gc-city-a", "Segmentation fault")
		r.fake.SetZombie("gc-city-a", true)
		time.Sleep(time.Second)
		a := r.wantState("a", api.StateRunning)
		if a.Restarts != 1 || !strings.Contains(a.LastScreen, "Segmentation") || r.starts("gc-city-a") != 2 {
			t.Errorf("status %+v", a)
		}
		r.end()
	})
}

const oneJob = "[[agents]]\nname = \"job\"\nstart_command = \"make\"\nlifecycle = \"one_shot\"\n"

func TestOneShotOnceForEveryGcStart(t *testing.T) {
	bubble(t, oneJob, func(r *rig) {
		r.start()
		r.fake.Exit("gc-city-job", 0)
		r.wantState("job", api.StateExited)
		r.end() // a controller restart does not run it again
		r.start()
		r.wantState("job", api.StateExited)
		if n := r.starts("gc-city-job"); n != 1 {
			t.Errorf("%d starts", n)
		}
		r.l.post(r.l.shutdown.begin) // gc stop does
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		r.start()
		r.wantState("job", api.StateRunning)
		if n := r.starts("gc-city-job"); n != 2 {
			t.Errorf("%d starts after the next gc start", n)
		}
		r.end()
	})
}

func TestOneShotThatFailsIsNotRestarted(t *testing.T) {
	bubble(t, oneJob, func(r *rig) {
		r.start()
		r.fake.SetPeek("gc-city-job", "2 tests failed")
		r.fake.Exit("gc-city-job", 3)
		a := r.wantState("job", api.StateCrashed)
		if a.LastExit.Code != 3 || a.Restarts != 0 || r.starts("gc-city-job") != 1 || a.LastScreen != "2 tests failed" {
			t.Errorf("status %+v", a)
		}
		if err := r.l.calls.Restart(context.Background(), []string{"job"}); err != nil {
			t.Fatal(err)
		}
		r.wantState("job", api.StateRunning)
		r.end()
	})
}

func TestStartFailureIsShownWithItsHint(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent+"work_dir = \"missing\"\n", func(r *rig) {
		r.start()
		a := r.wantState("a", api.StateQuarantined)
		if !strings.Contains(a.Error, "does not exist") || !strings.Contains(a.Hint, "work_dir") {
			t.Errorf("status %+v", a)
		}
		if r.starts("") != 0 {
			t.Error("a start without its folder reached the backend")
		}
		if err := os.Mkdir(filepath.Join(r.dir, "missing"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := r.l.calls.Restart(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if a := r.wantState("a", api.StateRunning); a.Error != "" {
			t.Errorf("the error stays: %+v", a)
		}
		r.end()
	})
}

func TestCommandNotFoundKeepsTheScreen(t *testing.T) {
	bubble(t, oneJob, func(r *rig) {
		r.fake.Fail("Start", "gc-city-job", &runtime.StartupDeath{Session: "gc-city-job", Code: 127, Screen: "sh: make: not found"})
		r.start()
		a := r.wantState("job", api.StateCrashed)
		if a.LastExit == nil || a.LastExit.Code != 127 || a.LastExit.Reason != "command not found" || a.LastScreen == "" || a.Hint == "" {
			t.Errorf("status %+v", a)
		}
		r.end()
	})
}

func TestUntilDone(t *testing.T) {
	two := oneJob + strings.ReplaceAll(oneJob, `"job"`, `"job2"`)
	bubble(t, two, func(r *rig) {
		r.start(func(o *Options) { o.Until = UntilDone; o.Timeout = time.Hour })
		r.fake.Exit("gc-city-job", 0)
		synctest.Wait()
		r.fake.Exit("gc-city-job2", 4)
		var failed *FailedError
		if err := <-r.result; !errors.As(err, &failed) || failed.Code != 4 || failed.Agent != "job2" {
			t.Errorf("result %v", err)
		}
	})
	bubble(t, oneJob, func(r *rig) {
		r.start(func(o *Options) { o.Until = UntilDone; o.Timeout = time.Hour })
		if err := <-r.result; !errors.Is(err, api.ErrTimeout) {
			t.Errorf("result %v", err)
		}
	})
}

func TestLostEventsAreMadeUpByThePatrol(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.fake.Vanish("gc-city-a")
		time.Sleep(30 * time.Second)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
			t.Errorf("status %+v", a)
		}
		r.fake.DropSubscribers()
		synctest.Wait()
		r.fake.Exit("gc-city-a", 1)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 2 {
			t.Errorf("after a lost subscription: %+v", a)
		}
		r.end()
	})
}

func TestCutShortStartIsAdopted(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.fake.Hang("SetMeta", "", true) // the session exists, its mark does not
		r.start()
		r.end()
		r.fake.Hang("SetMeta", "", false)
		r.start()
		r.wantState("a", api.StateRunning)
		if n := r.starts("gc-city-a"); n != 1 {
			t.Errorf("%d starts", n)
		}
		r.end()
	})
}

func TestEndDuringTheStartKeepsItsStatus(t *testing.T) {
	bubble(t, oneJob, func(r *rig) {
		r.fake.Hang("SetMeta", "", true) // the session runs, its start continues
		r.start()
		r.fake.SetPeek("gc-city-job", "hi")
		r.fake.Exit("gc-city-job", 0)
		r.fake.Hang("SetMeta", "", false)
		if a := r.wantState("job", api.StateExited); a.LastExit == nil || a.LastExit.Code != 0 {
			t.Errorf("status %+v", a)
		}
		r.end()
	})
}

func TestSubscriptionIsTriedAgain(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1h\"\n"+oneAgent, func(r *rig) {
		r.fake.Fail("Events", "", runtime.ErrBackendUnreachable)
		r.start()
		r.wantState("a", api.StateRunning)
		r.fake.Fail("Events", "", nil)
		time.Sleep(time.Second)
		r.fake.Exit("gc-city-a", 1)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
			t.Errorf("the exit was not seen: %+v", a)
		}
		r.end()
	})
}

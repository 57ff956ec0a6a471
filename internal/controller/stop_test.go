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
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
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
		a := r.wantState("a", StateUnknown)
		if a.Error == "" || r.starts("gc-city-a") != 1 {
			t.Errorf("status %+v", a)
		}
		n := r.queue(QueueRequest{Agent: "a", Text: "hello", Immediate: true})
		if err := r.l.restartAgents(context.Background(), []string{"a"}); err == nil || !strings.Contains(err.Error(), ErrForeign.Error()) {
			t.Errorf("restart: %v", err)
		}
		time.Sleep(time.Hour)
		if got := r.nudge(n.ID); got.State != session.NudgeQueued || got.Detail != ErrForeign.Error() || got.SessionID != "" {
			t.Errorf("nudge %+v", got)
		}
		r.l.post(r.l.shutdown)
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
		r.wantState("web", StateRunning)
		r.end()
	})
}

func TestStopByAPersonIsNeitherCountedNorUndone(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		if err := r.l.stopAgents(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if a := r.wantState("a", StateStopped); a.Restarts != 0 {
			t.Errorf("counted: %+v", a)
		}
		r.end()
		r.start() // the controller's restart does not undo it
		r.wantState("a", StateStopped)
		if err := r.l.setSuspended(context.Background(), []string{"a"}, false); err != nil {
			t.Fatal(err)
		}
		r.wantState("a", StateRunning)
		r.end()
	})
}

func TestStopGivesTheAgentTimeToEnd(t *testing.T) {
	bubble(t, "[daemon]\nshutdown_timeout = \"3s\"\n"+oneAgent, func(r *rig) {
		r.start()
		began := time.Now()
		go func() {
			if _, err := r.fake.AwaitCalls(context.Background(), "Interrupt", "gc-city-a", 1); err == nil {
				time.Sleep(time.Second)
				r.fake.Exit("gc-city-a", 0)
			}
		}()
		r.l.post(r.l.shutdown)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != time.Second {
			t.Errorf("stop took %v, the agent needed 1s", d)
		}
	})
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
		r.wantState("web", StateRunning)
		began := time.Now()
		r.l.post(r.l.shutdown)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 3*time.Second {
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
		r.l.post(r.l.shutdown)
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
	if err := os.Mkdir(StateDir(r.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(StateDir(r.dir), dbName)
	if err := os.WriteFile(path, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), r.options())
	if !errors.Is(err, session.ErrCorrupt) || !strings.Contains(Hint(err), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, hint %q", err, Hint(err))
	}
	if b, _ := os.ReadFile(path); string(b) != "not a database" {
		t.Errorf("the file is %q now", b)
	}
	if r.starts("") != 0 {
		t.Error("agents were started")
	}
}

package controller

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

const promptedAgent = "[[agents]]\nname = \"a\"\nstart_command = \"agent\"\nprompt_template = \"do the work\"\n"

// servingFake reports when its sessions are idle for the first time.
type servingFake struct {
	*runtimefake.Fake
	idle chan struct{}
}

func (f *servingFake) AwaitFirstIdle(ctx context.Context, _ string, _ runtime.Config) error {
	select {
	case <-f.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A program that ended with 0 would repeat its work, and its cost, after a
// restart.
func TestEndAfterThePromptIsReportedNotRepeated(t *testing.T) {
	bubble(t, promptedAgent, func(r *rig) {
		f := &servingFake{Fake: r.fake, idle: make(chan struct{})}
		r.start(func(o *Options) { o.Provider = f })
		r.wantState("a", api.StateRunning)
		r.fake.SetPeek("gc-city-a", "the answer")
		r.fake.Exit("gc-city-a", 0)
		time.Sleep(time.Hour)
		a := r.wantState("a", api.StateExited)
		if n := r.starts("gc-city-a"); n != 1 || a.Restarts != 0 || !strings.Contains(a.Error, "after its prompt") ||
			!strings.Contains(a.Hint, "gc restart a") || a.LastScreen != "the answer" || a.LastExit == nil || a.LastExit.Code != 0 {
			t.Fatalf("%d starts, status %+v", n, a)
		}
		list, err := r.l.store.Events(0, 0)
		if last := list[len(list)-1]; err != nil || last.Kind != api.EventExited || !strings.Contains(last.Detail, "after its prompt") {
			t.Errorf("last event %+v, %v", last, err)
		}
		r.end()
		r.start(func(o *Options) { o.Provider = f }) // the same run continues
		if r.wantState("a", api.StateExited); r.starts("gc-city-a") != 1 {
			t.Error("another controller started it")
		}
		if err := r.l.calls.Restart(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if a := r.wantState("a", api.StateRunning); a.Error != "" || r.starts("gc-city-a") != 2 {
			t.Errorf("gc restart: %+v", a)
		}
		r.fake.Exit("gc-city-a", 3)
		if r.wantState("a", api.StateRunning); r.starts("gc-city-a") != 3 {
			t.Error("a crash must be restarted")
		}
		r.end()
	})
}

// An agent that took messages is restarted even if it ended with 0.
func TestEndOfAnAgentThatServedIsRestarted(t *testing.T) {
	bubble(t, promptedAgent, func(r *rig) {
		f := &servingFake{Fake: r.fake, idle: make(chan struct{})}
		r.start(func(o *Options) { o.Provider = f })
		close(f.idle)
		synctest.Wait()
		r.fake.Exit("gc-city-a", 0)
		if r.wantState("a", api.StateRunning); r.starts("gc-city-a") != 2 {
			t.Errorf("%d starts", r.starts("gc-city-a"))
		}
		r.end()
	})
}

// Without a prompt nothing was paid for.
func TestEndWithoutAPromptIsRestarted(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.fake.Exit("gc-city-a", 0)
		if r.wantState("a", api.StateRunning); r.starts("gc-city-a") != 2 {
			t.Errorf("%d starts", r.starts("gc-city-a"))
		}
		r.end()
	})
}

func TestDeathInTheStartWithZeroIsReportedNotRepeated(t *testing.T) {
	bubble(t, promptedAgent, func(r *rig) {
		r.fake.FailTimes("Start", "gc-city-a", &runtime.StartupDeath{Session: "gc-city-a", Code: 0, Screen: "hi"}, 1)
		r.start()
		a := r.wantState("a", api.StateExited)
		if !strings.Contains(a.Error, "after its prompt") || a.LastScreen != "hi" || a.Restarts != 0 {
			t.Errorf("status %+v", a)
		}
		r.end()
	})
}

func TestAcceptedDialogsAreEvents(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		var told func(runtime.Step)
		r.start(func(o *Options) { o.Steps = func(f func(runtime.Step)) { told = f } })
		told(runtime.Step{Session: "gc-city-a", Name: runtime.StepAccepted, Accepted: &runtime.Accepted{
			Dialog: "bypass permissions", Kind: "permission", Question: "running in Bypass Permissions mode", Label: "Yes, I accept",
		}})
		synctest.Wait()
		list, _ := r.l.store.Events(0, 0)
		last := list[len(list)-1]
		if want := `permission: "Yes, I accept", asked: "running in Bypass Permissions mode"`; last.Kind != api.EventAccepted || last.Why != "bypass permissions" || last.Detail != want {
			t.Errorf("last event %+v", last)
		}
		r.end()
	})
}

// TestPromptsStayWithinTheBudget: an agent that dies after its prompt, whatever it says by
// that, gets the prompt again only within the budget, also once it is quarantined.
func TestPromptsStayWithinTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		city     string
		min, max int
	}{
		"with a prompt":    {promptedAgent, 15, 26}, // 1 + 5 an hour
		"without a prompt": {oneAgent, 100, 400},    // each time within a minute
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.city, func(r *rig) {
				r.start()
				for range 4 * 60 {
					if up, _ := r.fake.IsRunning(t.Context(), "gc-city-a"); up {
						r.fake.Exit("gc-city-a", 1)
					}
					time.Sleep(time.Minute)
				}
				if n := r.starts("gc-city-a"); n < c.min || n > c.max {
					t.Errorf("%d starts in four hours, want %d to %d", n, c.min, c.max)
				}
				r.end()
			})
		})
	}
}

package server

import (
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
)

// stuckAfter is short, and longer than what a busy machine delays.
const stuckAfter = 2 * time.Second

// TestStuck: of the programs that say that they work, only the one whose screen, processes and
// CPU time do not move is stuck; one that says nothing never is.
func TestStuck(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	works := say("7501;state=working")
	for name, command := range map[string]string{
		"still":    works + "exec sleep 1000",
		"computes": works + "while :; do :; done",
		"paints":   works + "i=0; while :; do i=$((i+1)); echo $i; sleep 0.2; done",
		"forks":    works + "while :; do sleep 0.3; done",
		"idle":     say("7501;state=idle") + "exec sleep 1000",
		"silent":   "exec sleep 1000",
	} {
		_, err := c.Create(t.Context(), api.CreateRequest{Name: name, Command: command, Env: testEnv, StuckAfter: clock.Millis(stuckAfter)})
		if err != nil {
			t.Fatal(err)
		}
	}
	create(t, c, "never", works+"exec sleep 1000")
	stuck := api.WaitRequest{Conditions: []api.Condition{{Stuck: true}}, Timeout: 20 * time.Second}
	r, err := c.Wait(t.Context(), "still", stuck)
	if err != nil || r.Met != 0 {
		t.Fatal(r, err, doingNow(t, c, "still"))
	}
	a := doingNow(t, c, "still")
	if a.State != api.ActivityStuck || a.Source != "process" || !strings.Contains(a.Evidence, "state=working") || !strings.Contains(a.Evidence, "nothing has moved") {
		t.Errorf("%+v", a)
	}
	if still := time.Since(a.Since); still < stuckAfter-time.Second { // Since is rounded for display
		t.Errorf("nothing has moved for %v", still)
	}
	stuck.Timeout = 2 * stuckAfter
	for name, state := range map[string]string{
		"computes": api.ActivityWorking, "paints": api.ActivityWorking, "forks": api.ActivityWorking,
		"idle": api.ActivityIdle, "silent": api.ActivityUnknown, "never": api.ActivityWorking,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := c.Wait(t.Context(), name, stuck)
			if err != nil || !r.TimedOut {
				t.Error(r, err)
			}
			if a := doingNow(t, c, name); a.State != state {
				t.Errorf("%+v", a)
			}
		})
	}
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		list, err := c.Activities(t.Context(), []string{"still"})
		if err != nil || len(list) != 1 || list[0].Activity.State != api.ActivityStuck {
			t.Error(list, err)
		}
	})
}

// TestStuckEnds: a program that was stuck and goes on is not stuck, and both are changes that
// a wait sees.
func TestStuckEnds(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	command := say("7501;state=working") + "read x; " + say("7501;state=working:msg=YQ") + "echo goes on; while :; do :; done"
	_, err := c.Create(t.Context(), api.CreateRequest{Name: "a", Command: command, Env: testEnv, StuckAfter: clock.Millis(stuckAfter)})
	if err != nil {
		t.Fatal(err)
	}
	change := api.WaitRequest{Conditions: []api.Condition{{Status: true}}, Timeout: 20 * time.Second}
	if r, err := c.Wait(t.Context(), "a", api.WaitRequest{Conditions: []api.Condition{{Stuck: true}}, Timeout: 20 * time.Second}); err != nil || r.Met != 0 {
		t.Fatal(r, err, doingNow(t, c, "a"))
	}
	if err := c.Keys(t.Context(), "a", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	for doingNow(t, c, "a").State == api.ActivityStuck {
		if r, err := c.Wait(t.Context(), "a", change); err != nil || r.Met != 0 && !r.TimedOut {
			t.Fatal(r, err)
		}
	}
	if a := doingNow(t, c, "a"); a.State != api.ActivityWorking {
		t.Errorf("%+v", a)
	}
}

package controller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// Only its process shows that a bare command is running.
func TestAgentIsStartingUntilItsProgramWasSeen(t *testing.T) {
	bubble(t, oneAgent+"[[agents]]\nname = \"b\"\nstart_command = \"b\"\ndepends_on = [\"a\"]\n", func(r *rig) {
		r.fake.FailTimes("ProcessAlive", "gc-city-a", context.DeadlineExceeded, 3)
		r.start()
		r.wantState("a", api.StateStarting)
		if r.status("b").State != api.StateStopped {
			t.Error("b started before what it depends on was seen")
		}
		time.Sleep(confirmLimit)
		r.wantState("a", api.StateRunning)
		r.wantState("b", api.StateRunning)
		r.end()
	})
}

// A command that is not found was never running.
func TestExitBeforeTheProgramWasSeen(t *testing.T) {
	bubble(t, "[daemon]\nmax_restarts = 1\n"+oneAgent, func(r *rig) {
		r.fake.Fail("ProcessAlive", "gc-city-a", context.DeadlineExceeded)
		r.start()
		for range 2 {
			r.wantState("a", api.StateStarting)
			r.fake.ExitWith("gc-city-a", runtime.Exit{Code: 127, Reason: "exited", Time: time.Now()})
			synctest.Wait()
		}
		if a := r.wantState("a", api.StateQuarantined); a.Hint == "" || a.LastExit.Code != 127 {
			t.Errorf("%+v", a)
		}
		list, err := r.l.store.Events(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Kind == api.EventStarted {
				t.Errorf("%+v", e)
			}
		}
		r.end()
	})
}

func TestProgramNames(t *testing.T) {
	base := map[string]string{"SHELL": "/bin/bash"}
	tests := map[string][]string{
		"":                              {"bash"},
		"sleep 1000":                    {"sleep"},
		"exec /usr/bin/sleep 9":         {"sleep"},
		"A=1 B_2=x exec claude --model": {"claude"},
		"bash -c foo":                   nil, // the shell that reads the line comes first
		"sh run.sh":                     nil,
		"while :; do sleep 1; done":     {"while"}, // never seen: the limit decides
		`"$HOME/bin/agent"`:             nil,
		"(sleep 1)":                     nil,
		"{ sleep 1; }":                  nil,
	}
	for line, want := range tests {
		if diff := cmp.Diff(want, programNames(&runtime.Config{Command: line, BaseEnv: base})); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}

// A step that fails without ending the start is an event, and stays in the
// status until the next start.
func TestWarningsOfAStart(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		var told func(runtime.Step)
		r.start(func(o *Options) { o.Steps = func(f func(runtime.Step)) { told = f } })
		step := runtime.Step{Session: "gc-city-a", Name: runtime.StepSetup, Took: 7 * time.Millisecond, Err: errors.New("one\ntwo")}
		told(step) // of a start that it ends
		if a := r.wantState("a", api.StateRunning); a.Warning != "" {
			t.Errorf("%+v", a)
		}
		step.Warning = true
		told(step)
		if a := r.wantState("a", api.StateRunning); a.Warning != "setup: one; two" {
			t.Errorf("%+v", a)
		}
		if list, err := r.l.store.Events(0, 0); err != nil || list[len(list)-1].Kind != api.EventWarning || list[len(list)-1].Detail != "one; two, after 7ms" {
			t.Errorf("%+v, %v", list, err)
		}
		r.fake.Exit("gc-city-a", 1)
		if a := r.wantState("a", api.StateRunning); a.Warning != "" {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

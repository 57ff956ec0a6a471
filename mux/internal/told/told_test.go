package told_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/told"
)

// TestLies: a request with what no report can say is refused, and its age is bounded.
func TestLies(t *testing.T) {
	for _, in := range []api.ReportRequest{
		{}, {State: "asleep"}, {State: "Working"}, {State: "exited"}, {State: "unknown"}, {State: "working\x1b"},
		{State: "idle", Kind: "auth"}, {State: "blocked", Kind: "hunger"}, {State: "done", Hook: strings.Repeat("x", 65)},
	} {
		if r, err := told.Parse(in); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%+v: %+v, %v", in, r, err)
		}
	}
	if r, err := told.Parse(api.ReportRequest{State: "blocked", Kind: "auth", Hook: "a\x1b[31m b"}); err != nil || r.Hook != "a [31m b" {
		t.Errorf("%+v, %v", r, err)
	}
	for age, want := range map[time.Duration]time.Duration{-time.Hour: 0, time.Second: time.Second, 1 << 62: time.Minute} {
		if got := told.Age(api.ReportRequest{Age: clock.Millis(age)}); got != want {
			t.Errorf("age %v: %v", age, got)
		}
	}
}

func nobody(int) bool { return false }

// TestUnseen: a process that has ended, or that this machine does not show, is nobody.
func TestUnseen(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{-1, 0, ended.Process.Pid} {
		if s, err := told.Examine(pid, nobody); !errors.Is(err, api.ErrNotInside) {
			t.Errorf("%d: %+v, %v", pid, s, err)
		}
	}
}

// TestAgent: the nearest program above a hook that is no shell, up to the leader.
func TestAgent(t *testing.T) {
	s := told.Sender{Chain: []proctree.Proc{
		{PID: 9, Start: 90, Comm: "gc"}, {PID: 8, Start: 80, Comm: "sh"}, {PID: 7, Start: 70, Comm: "node"},
		{PID: 6, Start: 60, Comm: "bash"}, {PID: 5, Start: 50, Comm: "claude"}, {PID: 4, Start: 40, Comm: "keeper"},
	}}
	agent, above, err := s.Agent(5)
	if err != nil || agent != (status.Process{PID: 7, Start: 70}) || len(above) != 1 || above[0].PID != 5 {
		t.Error(agent, above, err)
	}
	if agent, above, err = s.Agent(6); err != nil || agent.PID != 7 || len(above) != 0 {
		t.Error(agent, above, err)
	}
	if agent, _, err = s.Agent(8); err != nil || agent != (status.Process{}) {
		t.Error(agent, err)
	}
	if agent, _, err = s.Agent(3); !errors.Is(err, api.ErrNotInside) {
		t.Error(agent, err)
	}
}

// TestEnviron: the environment of another session is refused, that of none is not.
func TestEnviron(t *testing.T) {
	for _, x := range []struct {
		env map[string]string
		ok  bool
	}{
		{nil, true},
		{map[string]string{proctree.SessionVar: "mine"}, true},
		{map[string]string{proctree.SessionVar: "theirs"}, false},
		{map[string]string{proctree.SessionVar: "theirs", proctree.MarkerVar: "mine"}, true},
	} {
		if err := (told.Sender{Env: x.env}).CheckEnviron("mine"); errors.Is(err, api.ErrNotInside) == x.ok {
			t.Errorf("%v: %v", x.env, err)
		}
	}
}

// TestRuns: a process is known by its start, too: pids are used again.
func TestRuns(t *testing.T) {
	s, err := told.Examine(os.Getpid(), nobody)
	if err != nil {
		t.Fatal(err)
	}
	if me, err := told.Examine(os.Getpid(), func(pid int) bool { return pid == os.Getppid() }); err != nil || len(me.Chain) != 2 {
		t.Errorf("%+v, %v", me.Chain, err)
	}
	me := status.Process{PID: s.Chain[0].PID, Start: s.Chain[0].Start}
	other := status.Process{PID: me.PID, Start: me.Start + 1}
	if !told.Runs(me) || told.Ended(me) || told.Runs(other) || !told.Ended(other) || told.Ended(status.Process{}) {
		t.Error("wrong")
	}
}

package host_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/proctree"
)

// children returns the processes below one.
func children(t *testing.T, pid int) []int {
	t.Helper()
	table, err := proctree.Table()
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, p := range table {
		if p.PPID == pid {
			out = append(out, p.PID)
		}
	}
	return out
}

// gone waits until a process is.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives", pid)
		}
		time.Sleep(10 * time.Millisecond) // it is not this process's child
	}
}

// A host that is killed leaves nothing behind, and the next one sends what waited.
func TestKilledHost(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	r.send("long", "LONG")
	r.Nudge(t.Context(), control.Nudge{ID: "later", Queue: true, Blocks: []control.Block{{Text: "this waited"}}})
	waiter := control.NewClient(r.dial())
	defer waiter.Close()
	lost := make(chan error, 1)
	go func() {
		_, err := waiter.Nudge(t.Context(), control.Nudge{ID: "unheard", Blocks: []control.Block{{Text: "nobody was promised this"}}})
		lost <- err
	}()
	r.until("both wait", func(s control.State) bool { return len(s.Queue) == 2 })
	agent := children(t, r.cmd.Process.Pid)
	if len(agent) == 0 {
		t.Fatal("the host has no child")
	}
	r.cmd.Process.Kill()
	<-r.ended
	if err := <-lost; !errors.Is(err, control.ErrLost) {
		t.Errorf("the sender that waited: %v", err)
	}
	for _, pid := range agent {
		gone(t, pid)
	}
	next := start(t, setup{launch: control.Launch{Dir: r.dir}})
	next.idle(1)
	next.shows("you said this waited")
	next.shows("the message is not sent again")
	if got := next.send("later", "this waited"); got.State != control.StateSubmitted {
		t.Errorf("%+v", got)
	}
	if strings.Contains(next.text(), "nobody was promised this") {
		t.Error("a message that was not acknowledged was sent")
	}
	if got := next.send("unheard", "again"); got.State != control.StateDead {
		t.Errorf("its id again: %+v", got)
	}
	if st, _ := next.State(t.Context()); st.Turns != 1 {
		t.Errorf("it was sent twice: %+v", st)
	}
}

// An agent that ignores the end of its input and SIGTERM is killed.
func TestCloseOfAStubbornAgent(t *testing.T) {
	t.Parallel()
	r := start(t, setup{env: []string{"GC_TEST_STUBBORN=1"}})
	r.ready()
	tree, err := proctree.Tree{Root: r.cmd.Process.Pid}.Members()
	if err != nil || len(tree) < 2 {
		t.Fatalf("%+v, %v", tree, err)
	}
	r.send("long", "LONG")
	if err := r.End(t.Context()); err != nil && !errors.Is(err, control.ErrLost) {
		t.Error(err)
	}
	<-r.ended
	for _, p := range tree {
		gone(t, p.PID)
	}
}

// The process that gets the signals for the agent is the agent.
func TestTheShellIsReplaced(t *testing.T) {
	t.Parallel()
	for command, direct := range map[string]bool{
		"sleep 1000": true, "  sleep '1000'": true, "exec sleep 1000": true,
		"A=1 sleep 1000 # with a variable": false, "true; sleep 1000": false, "cd / && sleep 1000": false,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			r := start(t, setup{launch: control.Launch{Command: command}})
			r.until("starting", func(s control.State) bool { return s.Phase == control.PhaseStarting })
			pids := children(t, r.cmd.Process.Pid)
			if len(pids) != 1 {
				t.Fatalf("children %v", pids)
			}
			if !direct {
				return // a shell may replace itself
			}
			var argv []string
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // nothing tells of an exec
				if argv, _ = proctree.Cmdline(pids[0]); len(argv) == 2 && argv[0] == "sleep" {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("the host's child is %q", argv)
				}
			}
		})
	}
}

// peak returns the most memory in bytes that a process has had.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

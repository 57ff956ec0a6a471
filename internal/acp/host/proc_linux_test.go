package host_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/control"
)

// children returns the processes below one.
func children(t *testing.T, pid int) []int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, f := range strings.Fields(string(b)) {
		n, _ := strconv.Atoi(f)
		out = append(out, n)
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
	agent := children(t, r.cmd.Process.Pid)
	if len(agent) == 0 {
		t.Fatal("the host has no child")
	}
	r.cmd.Process.Kill()
	<-r.ended
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
	if st, _ := next.State(t.Context()); st.Turns != 1 {
		t.Errorf("it was sent twice: %+v", st)
	}
}

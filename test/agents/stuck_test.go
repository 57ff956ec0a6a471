//go:build agents

package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
)

// stuckAfter is that of the agents in TestStuck.
const stuckAfter = 3 * time.Second

// TestStuck: an agent whose processes stand still is stuck. One whose model never answers
// is not: each of them animates its screen meanwhile.
func TestStuck(t *testing.T) {
	for _, a := range agents {
		t.Run(a.preset, func(t *testing.T) {
			j := &journey{world: newWorld(t), agent: a, stub: newStub(t), took: map[string]time.Duration{}, said: map[string]string{}, won: map[string]string{}}
			defer func() {
				if t.Failed() {
					j.dump(j.stub)
				}
			}()
			j.setUp()
			j.configure("", fmt.Sprintf("stuck_after = %q\n", stuckAfter.String()))
			j.gc("start", "--trust")
			j.comesUp("dialogs")
			j.nudge("tag-" + "hang HANG")
			r := j.on("wait", name, "--until", "stuck", "--timeout", (4 * stuckAfter).String())
			if r.code != 124 || j.status().Activity != "working" {
				t.Error(r)
			}
			for _, pid := range j.processes() {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				defer syscall.Kill(pid, syscall.SIGCONT)
			}
			j.gc("wait", name, "--until", "stuck", "--timeout", (4 * stuckAfter).String())
			if text := j.gc("attention"); !strings.Contains(text, "stuck") {
				t.Errorf("attention:\n%s", text)
			}
		})
	}
}

// processes returns the ids of the agent's processes.
func (w *world) processes() []int {
	w.t.Helper()
	var in struct {
		ID  string `json:"id"`
		PID int    `json:"pid"`
	}
	r := w.gc("session", "inspect", w.status().Session, "--json")
	if err := json.Unmarshal([]byte(r), &in); err != nil || in.PID == 0 {
		w.t.Fatalf("%v: %s", err, r)
	}
	list, err := proctree.Members(in.PID, in.PID, in.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	var pids []int
	for _, p := range list {
		pids = append(pids, p.PID)
	}
	return pids
}

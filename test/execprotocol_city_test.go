//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv"
)

// sessionScript returns the absolute path of a script in contrib.
func sessionScript(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../contrib/session-scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A city hosted by a session script, from start to stop: nudged, killed,
// restarted by the controller, and nothing left.
func TestCityOnSessionScript(t *testing.T) {
	for script, programs := range map[string][]string{
		"gc-session-native": nil,
		"gc-session-screen": {"screen", "jq", "bash", "script", "flock"},
	} {
		t.Run(script, func(t *testing.T) {
			for _, p := range programs {
				need(t, p)
			}
			c := newCity(t, "[daemon]\npatrol_interval = \"300ms\"\n"+
				"[[agents]]\nname = \"worker\"\nstart_command = \"./agent\"\nready_prompt_prefix = \"ask> \"\nprocess_names = [\"agent\"]\n")
			// It contains sockets: a short path.
			state, err := os.MkdirTemp("", "gcx")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(state) })
			c.env = append(c.env, "GC_SESSION=exec:"+sessionScript(t, script), "GC_BIN="+gcBin, "GC_EXEC_STATE_DIR="+state, "GC_SCREEN_GRACE=1")
			agent := "#!/bin/sh\necho $$ >> pids\nwhile printf 'ask> '; read line; do echo \"you said $line\"; done\n"
			if err := testenv.WriteProgram(filepath.Join(c.path, "agent"), []byte(agent)); err != nil {
				t.Fatal(err)
			}
			c.dir = c.path
			if out := c.gc("start"); !strings.Contains(out, "running") {
				t.Errorf("start: %s", out)
			}
			c.becomes(map[string]cityapi.State{"worker": cityapi.StateRunning})
			if r := c.run("nudge", "worker", "hello"); !strings.HasPrefix(r.out, "submitted") && !strings.HasPrefix(r.out, "unverified") {
				t.Errorf("nudge: %s", r)
			}
			c.saw("you said hello")
			c.gc("keys", "worker", "x", "Enter")
			c.saw("you said x")

			pids := strings.Fields(c.read(filepath.Join(c.path, "pids")))
			pid, err := strconv.Atoi(pids[0])
			if err != nil || len(pids) != 1 || syscall.Kill(pid, syscall.SIGKILL) != nil {
				t.Fatalf("agents %q, %v", pids, err)
			}
			eventually(t, func() string { return "the next agent" }, func() bool {
				return len(strings.Fields(c.read(filepath.Join(c.path, "pids")))) == 2
			})
			c.becomes(map[string]cityapi.State{"worker": cityapi.StateRunning})
			c.gc("stop")
			if script != "gc-session-native" { // the controller's process may still be ending
				eventually(t, func() string { return fmt.Sprintf("left behind: %+v", runningWithHome(c.home)) }, func() bool {
					return len(runningWithHome(c.home)) == 0
				})
			}
			if out := c.gc("session", "list"); strings.Contains(out, "worker") {
				t.Errorf("still listed: %s", out)
			}
		})
	}
}

// saw waits until the worker shows the text.
func (c *liveCity) saw(text string) {
	c.t.Helper()
	var last result
	eventually(c.t, func() string { return text + " in " + last.String() }, func() bool {
		last = c.run("peek", "worker")
		return strings.Contains(last.out, text)
	})
}

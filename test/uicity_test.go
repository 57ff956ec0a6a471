//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// uiAsks asks; with a file "other" it asks something else. Enter answers.
const uiAsks = `stty -icanon -echo
ask() { clear; echo "I changed 3 files."; printf '%s\n\342\235\257 1. Yes\n  2. No\n' "$1"; }
ask 'Do you want to proceed?'
{ until [ -e other ]; do sleep 0.05; done; rm other; ask 'Do you want to delete everything?'; } &
IFS= read -r -s -n1 k
clear; echo "the answer came"; exec cat
`

const uiCity = `[daemon]
max_restarts = 1
patrol_interval = "200ms"
[[rigs]]
name = "web"
path = "web"
[[agents]]
name = "mayor"
start_command = "echo the mayor is here; exec cat"
[[agents]]
name = "coder"
dir = "web"
start_command = "bash ../asks.sh"
[[agents]]
name = "loop"
start_command = "test -e quiet && exec cat; echo oh no; exit 7"
[[agents]]
name = "w"
start_command = "echo I am a worker; exec cat"
[agents.pool]
min = 2
max = 2
`

func newUICity(t *testing.T) *liveCity {
	t.Helper()
	c := newCity(t, uiCity)
	if err := os.Mkdir(filepath.Join(c.path, "web"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.put("asks.sh", uiAsks)
	c.run("start", c.path)
	run := cityapi.StateRunning
	c.becomes(map[string]cityapi.State{"mayor": run, "web/coder": run, "loop": cityapi.StateQuarantined, "w-1": run, "w-2": run})
	return c
}

// TestUICity: the people of a city at three sizes: who needs somebody comes first, and gets
// its answer.
func TestUICity(t *testing.T) {
	for _, size := range uiSizes {
		t.Run(size, func(t *testing.T) {
			c := newUICity(t)
			v := c.views(size, "--city", c.path, "ui")
			v.sees(`^ gc live  5 agents, 2 need you`, `^Needs you`, `^ ! web/coder +question`, `^ ! loop +quarantined`, `^pool w`, `^rig web`, `^ . w-2`)
			v.selects("web/coder")
			if size == "80x24" {
				v.presses("Tab")
			}
			v.sees(`Do you want to proceed\?`, `1 Yes`, `2 No`, `I changed 3 files.`, `by dialog`)
			// A question that changes while the answer waits for its confirmation gets none.
			v.presses("1")
			v.sees(`Answer web/coder: Yes\? \[y/n\]`)
			if err := os.WriteFile(filepath.Join(c.path, "web", "other"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			v.sees("the question has changed; nothing was answered")
			v.presses("Escape")
			v.seesNot("nothing was answered")
			v.sees(`Do you want to delete everything\?`)
			v.presses("2")
			v.sees(`Answer web/coder: No\? \[y/n\]`)
			v.presses("n", "1")
			v.sees(`Answer web/coder: Yes\? \[y/n\]`)
			v.presses("y")
			v.sees("the answer came", "web/coder: answered Yes")
			v.sees(`1 needs you`)
			v.presses("q")
			v.sees("ended with 0")
		})
	}
}

// TestUIChangesAgents: what is done to an agent is seen, and asked for once if it ends
// something; a controller that is killed is said, and comes back.
func TestUIChangesAgents(t *testing.T) {
	c := newUICity(t)
	v := c.views("120x40", "--city", c.path, "ui")
	v.selects("mayor")
	v.sees("│the mayor is here")
	first := c.live("mayor").ID
	v.presses("r")
	v.sees(`Restart mayor\? \[y/n\]`)
	v.presses("y")
	v.sees("mayor: restarting")
	eventually(t, func() string { return "the mayor is not restarted" }, func() bool { id := c.live("mayor").ID; return id != "" && id != first })
	v.presses("Enter")
	v.seesNot("need you|needs you")
	v.presses("'typed by hand", "Enter")
	v.sees(`^typed by hand\ntyped by hand`)
	v.presses("C-b", "d")
	v.sees("detached from mayor", "│typed by hand")
	// It dies while it is selected, and is back.
	if err := syscall.Kill(c.live("mayor").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v.seesNot("│typed by hand")
	v.sees(`│. mayor +unknown`, "│the mayor is here")
	v.presses("z", "y")
	v.sees(`│. mayor +suspended`)
	v.presses("Z")
	v.sees(`│. mayor +unknown`, "│the mayor is here")
	v.presses("x")
	v.sees("Why mayor is", "Evidence, the strongest first")
	v.presses("Escape", "e")
	v.sees("Events", `draining +mayor +suspended`)
	v.presses("Escape", "n", "'for later", "Tab", "C-s")
	v.sees("mayor: queued")
	v.sees("1 message waits")
	v.presses("m")
	v.sees(`queued +mayor .*for later`)
	v.presses("c", "y")
	v.sees("cancelled", "no message waits")
	v.presses("Escape")
	// A controller that is killed is said, with what was last seen, until there is another one.
	var st cityapi.Status
	c.decode(c.gc("--city", c.path, "status", "--json"), &st)
	if err := syscall.Kill(st.Controller.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v.sees("LOST", `^ . w-1`)
	c.run("start", c.path)
	v.seesNot("LOST")
	v.sees(`^ . w-1`)
	v.presses("q")
	v.sees("ended with 0")
}

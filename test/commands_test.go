//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// reader is an agent that records each of its starts, and each line submitted
// to it.
const reader = `start_command = '''
echo start >> $GC_AGENT.starts; printf '> '
while read -r line; do echo "$line" >> $GC_AGENT.said; printf '> '; done'''` + "\n"

// background starts a background command of an agent and returns its id.
func (c *liveCity) background(agent, command string) string {
	c.t.Helper()
	r := c.run("exec", "--bg", "--owner", "gc-live-"+agent, "--", "sh", "-c", "cd "+c.path+"; "+command)
	if r.code != 75 {
		c.t.Fatalf("gc exec --bg: %s", r)
	}
	return strings.TrimSpace(r.out)
}

// said returns how often the end of a command was submitted to an agent.
func (c *liveCity) said(agent, id string) int {
	b, _ := os.ReadFile(filepath.Join(c.path, agent+".said")) // nothing yet
	return strings.Count(string(b), "[gc:evt "+id+"/exit]")
}

// wantSaid waits until the end of each command was reported, and checks that it
// was reported once.
func (c *liveCity) wantSaid(agent string, ids []string) {
	c.t.Helper()
	show := func() string {
		return fmt.Sprintf("%s was not told of all of %v: %s", agent, ids, c.run("--city", c.path, "peek", agent, "--all"))
	}
	eventually(c.t, show, func() bool {
		for _, id := range ids {
			if c.said(agent, id) == 0 {
				return false
			}
		}
		return true
	})
	for _, id := range ids {
		if n := c.said(agent, id); n != 1 {
			c.t.Errorf("%s got %d messages about %s", agent, n, id)
		}
	}
}

// TestCommandsWakeTheirOwners: on every provider the owner of a background
// command gets its end, once, even if the controller is killed, and a sleeping
// owner is started for it.
func TestCommandsWakeTheirOwners(t *testing.T) {
	toml := "[daemon]\npatrol_interval = \"300ms\"\nshutdown_timeout = \"300ms\"\n" +
		"[[agents]]\nname = \"owner\"\n" + reader + "[[agents]]\nname = \"sleeper\"\nidle_timeout = \"2s\"\n" + reader
	onHosts(t, toml, func(t *testing.T, c *liveCity) {
		c.run("start", c.path)
		sleeps := !strings.HasSuffix(t.Name(), "/tmux") // it does not report the last output
		slept := c.background("sleeper", "until [ -e go ]; do sleep 0.05; done")
		var ids []string
		for i := range 6 {
			ids = append(ids, c.background("owner", fmt.Sprintf("sleep 0.%d; echo number %d", i, i)))
		}
		c.killController()
		c.run("start", c.path)
		ids = append(ids, c.background("owner", "exit 3"))
		eventually(t, func() string { return "no end is reported" }, func() bool { return c.said("owner", ids[0]) > 0 })
		c.killController()
		c.run("start", c.path)
		c.wantSaid("owner", ids)
		if sleeps {
			c.becomes(map[string]cityapi.State{"owner": cityapi.StateRunning, "sleeper": cityapi.StateStopped})
		}
		c.put("go", "")
		c.wantSaid("sleeper", []string{slept})
		if n := strings.Count(c.read(filepath.Join(c.path, "sleeper.starts")), "start"); sleeps && n != 2 {
			t.Errorf("the sleeper was started %d times, want once more for the message", n)
		}
	})
}

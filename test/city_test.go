//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// liveCity is a city with a running controller.
type liveCity struct {
	*box
	path string
}

func newCity(t *testing.T, toml string) *liveCity {
	b := newBox(t)
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &liveCity{box: b, path: filepath.Join(dir, "city")}
	if err := os.Mkdir(c.path, 0o700); err != nil {
		t.Fatal(err)
	}
	c.write(toml)
	t.Cleanup(func() { c.run("--city", c.path, "stop") })
	return c
}

func (c *liveCity) write(toml string) {
	c.t.Helper()
	text := "[workspace]\nname = \"live\"\n" + toml
	if err := os.WriteFile(filepath.Join(c.path, "city.toml"), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *liveCity) put(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.path, name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *liveCity) agents() map[string]cityapi.AgentStatus {
	c.t.Helper()
	var st cityapi.Status
	if err := json.Unmarshal([]byte(c.gc("--city", c.path, "status", "--json")), &st); err != nil {
		c.t.Fatal(err)
	}
	out := map[string]cityapi.AgentStatus{}
	for _, a := range st.Agents {
		out[a.Name] = a
	}
	return out
}

// becomes waits until exactly these agents are in these states.
func (c *liveCity) becomes(want map[string]cityapi.State) {
	c.t.Helper()
	show := func() string { return fmt.Sprintf("want %v, have %+v", want, c.agents()) }
	eventually(c.t, show, func() bool {
		have := c.agents()
		if len(have) != len(want) {
			return false
		}
		for name, state := range want {
			if have[name].State != state {
				return false
			}
		}
		return true
	})
}

// live returns the running session of an agent, or the zero value.
func (c *liveCity) live(agent string) sessionInfo {
	c.t.Helper()
	for _, s := range c.list() {
		if s.Name == "gc-live-"+agent && s.State == "running" {
			return s
		}
	}
	return sessionInfo{}
}

// A city with a pool, a dependency, a job and a crash loop, whose config
// changes while it runs.
func TestCityFollowsItsConfig(t *testing.T) {
	const fixed = "[daemon]\nmax_restarts = 2\npatrol_interval = \"200ms\"\nshutdown_timeout = \"300ms\"\ndrift_drain_timeout = \"300ms\"\n"
	const pool = "[[agents]]\nname = \"w\"\nstart_command = \"exec sleep 1000\"\n[agents.pool]\nmax = 3\ncheck = \"cat size\"\ndrain_timeout = \"300ms\"\n"
	const boss = "[[agents]]\nname = \"boss\"\nstart_command = \"exec sleep 1000\"\ndepends_on = [\"prepare\"]\n"
	const job = "[[agents]]\nname = \"prepare\"\nstart_command = \"echo ready > prepared\"\nlifecycle = \"one_shot\"\n"
	const loop = "[[agents]]\nname = \"loop\"\nstart_command = \"echo oh no; exit 7\"\n"
	c := newCity(t, fixed+pool+boss+job+loop)
	c.put("size", "2\n")
	c.run("start", c.path)
	run, quarantined := cityapi.StateRunning, cityapi.StateQuarantined
	c.becomes(map[string]cityapi.State{"w-1": run, "w-2": run, "boss": run, "prepare": cityapi.StateExited, "loop": quarantined})
	if _, err := os.Stat(filepath.Join(c.path, "prepared")); err != nil {
		t.Errorf("boss started without what it depends on: %v", err)
	}
	if a := c.agents()["loop"]; a.Restarts != 2 && a.Restarts != 3 || a.LastExit == nil || a.LastExit.Code != 7 || !strings.Contains(a.LastScreen, "oh no") || a.RetryAt == nil {
		t.Errorf("crash loop: %+v", a)
	}

	c.put("size", "1\n") // the pool shrinks
	c.becomes(map[string]cityapi.State{"w-1": run, "boss": run, "prepare": cityapi.StateExited, "loop": quarantined})

	before := c.live("boss").ID
	c.write(fixed + pool + boss + "env = {MODE = \"new\"}\n" + job) // drift, and the loop is removed
	c.becomes(map[string]cityapi.State{"w-1": run, "boss": run, "prepare": cityapi.StateExited})
	eventually(t, func() string { return "boss runs with its old config" }, func() bool { return c.live("boss").ID != before })

	good := c.read(filepath.Join(c.path, "city.toml"))
	c.write("[[agents]\n") // broken: the old config stays
	client, err := cityapi.Dial(c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	eventually(t, func() string { return "the broken file is not told" }, func() bool {
		st, err := client.Status(t.Context())
		return err == nil && st.ConfigError != "" && len(st.Agents) == 3
	})
	c.put("city.toml", good)
	eventually(t, func() string { return "the repaired file is not read" }, func() bool {
		st, err := client.Status(t.Context())
		return err == nil && st.ConfigError == ""
	})
	c.gc("--city", c.path, "stop")
	if left := c.list(); len(left) != 0 {
		t.Errorf("gc stop left %+v", left)
	}
}

// A crash leads to a new session, and the status shows why.
func TestCityRestartsWhatDies(t *testing.T) {
	c := newCity(t, "[daemon]\nshutdown_timeout = \"200ms\"\n[[agents]]\nname = \"a\"\nstart_command = \"exec sleep 1000\"\n")
	c.gc("start", c.path)
	first := c.live("a")
	if err := syscall.Kill(first.PID, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string { return fmt.Sprintf("%+v", c.agents()) }, func() bool {
		a := c.agents()["a"]
		return a.State == cityapi.StateRunning && a.Restarts == 1 && a.LastExit != nil && a.LastExit.Signal == "SIGSEGV"
	})
	if second := c.live("a"); second.ID == first.ID {
		t.Errorf("the same session %s", second.ID)
	}
}

// Two cities of the same name cannot affect each other's sessions.
func TestTwoCitiesOfOneName(t *testing.T) {
	const toml = "[daemon]\nshutdown_timeout = \"200ms\"\n[[agents]]\nname = \"a\"\nstart_command = \"exec sleep 1000\"\n"
	c := newCity(t, toml)
	c.gc("start", c.path)
	mine := c.live("a").ID
	other := &liveCity{box: c.box, path: filepath.Join(filepath.Dir(c.path), "other")}
	if err := os.Mkdir(other.path, 0o700); err != nil {
		t.Fatal(err)
	}
	other.write(toml)
	other.run("start", other.path)
	a := other.agents()["a"]
	if a.State != cityapi.StateRunning || a.Session == c.agents()["a"].Session {
		t.Errorf("the second city: %+v", a)
	}
	other.gc("--city", other.path, "stop")
	if s := other.agents()["a"]; s.State != cityapi.StateStopped {
		t.Errorf("the second city after its stop: %+v", s)
	}
	if now := c.live("a"); now.ID != mine || now.State != "running" {
		t.Errorf("the first city's session: %+v", now)
	}
}

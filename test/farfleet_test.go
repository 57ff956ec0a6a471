//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/mux/api"
)

// onHost is an agent that lives on a host.
func onHost(name string, h *sshd.Host) string {
	return fmt.Sprintf("[[agents]]\nname = %q\nsession = %q\nwork_dir = %q\nstart_command = \"exec sleep 1000\"\n",
		name, h.URL(), h.Home+"/work")
}

// sleepsOn lists the pids of what a host's agents are.
func sleepsOn(h *sshd.Host) string {
	return strings.TrimSpace(h.Run("pgrep -x -u " + h.User + " sleep || true"))
}

func muxOf(t *testing.T, h *sshd.Host) (s api.ServerStatus) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.Run("gc mux status --json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCityOfThreeHosts: a city on three machines is one status. One of them loses its
// server, then its link and meanwhile its server: its agents run on, and nothing else
// changes. A second city on a machine has only its own agents. Nothing stays.
func TestCityOfThreeHosts(t *testing.T) {
	var hosts []*sshd.Host
	text, all := hostDaemon, map[string]cityapi.State{}
	for _, name := range []string{"one", "two", "three"} {
		h := sshd.Start(t, sshd.Options{Name: name, GC: gcBin})
		hosts = append(hosts, h)
		for _, agent := range []string{name + "-a", name + "-b"} {
			text += onHost(agent, h)
			all[agent] = run
		}
	}
	c := newCity(t, text)
	c.env = append(c.env, "GC_SSH="+sshd.SSH(hosts...))
	c.gc("start", c.path)
	c.becomes(all)
	pids := func() (list []string) {
		for _, h := range hosts {
			list = append(list, sleepsOn(h))
		}
		return list
	}
	before := pids()
	unchanged := func(when string) {
		t.Helper()
		c.becomes(all)
		if now := pids(); !slices.Equal(now, before) {
			t.Errorf("%s: pids %q, then %q", when, before, now)
		}
		for name, a := range c.agents() {
			if host, _, _ := strings.Cut(name, "-"); a.Restarts != 0 || a.Host != "ssh://"+host {
				t.Errorf("%s: %s: %+v", when, name, a)
			}
		}
	}
	unchanged("at first")
	if n := len(strings.Fields(strings.Join(before, " "))); n != len(all) {
		t.Fatalf("%d processes of %d agents: %q", n, len(all), before)
	}

	old := muxOf(t, hosts[1]).Server.PID
	kill9(t, old)
	unchanged("after a kill of a server")
	eventually(t, func() string { return "no other server on two" }, func() bool {
		pid := muxOf(t, hosts[1]).Server.PID
		return pid != 0 && pid != old
	})

	server := muxOf(t, hosts[1]).Server.PID
	hosts[1].Down()
	kill9(t, server)
	lost := map[string]cityapi.State{}
	for name, state := range all {
		if lost[name] = state; strings.HasPrefix(name, "two-") {
			lost[name] = away
		}
	}
	c.becomes(lost)
	if a := c.agents()["two-a"]; a.Error == "" {
		t.Errorf("unknown without a reason: %+v", a)
	}
	hosts[1].Up()
	unchanged("after a loss of the link and a kill of the server")
	events := c.gc("--city", c.path, "events")
	for _, h := range hosts {
		if !strings.Contains(events, "on "+h.URL()) {
			t.Errorf("no event on %s: %s", h.URL(), events)
		}
	}
	secondCity(t, c, hosts[0])
	unchanged("after another city")

	c.gc("--city", c.path, "stop")
	for i, left := range pids() {
		if left != "" {
			t.Errorf("left on %s: %s", hosts[i].Name, left)
		}
	}
	for _, h := range hosts {
		if s := strings.TrimSpace(h.Run("gc session list --json")); s != "[]" {
			t.Errorf("sessions left on %s: %s", h.Name, s)
		}
		eventually(t, func() string { return fmt.Sprintf("%d connections to %s", h.Connections(), h.Name) }, func() bool { return h.Connections() == 0 })
	}
}

// secondCity is a city of the same name with an agent of the same name on a host that
// has one of c's; it starts, sees its own, and stops.
func secondCity(t *testing.T, c *liveCity, h *sshd.Host) {
	t.Helper()
	other := &liveCity{box: c.box, path: filepath.Join(filepath.Dir(c.path), "other")}
	if err := os.Mkdir(other.path, 0o700); err != nil {
		t.Fatal(err)
	}
	other.write(hostDaemon + onHost(h.Name+"-a", h))
	before := sleepsOn(h)
	other.gc("start", other.path)
	t.Cleanup(func() { other.run("--city", other.path, "stop") })
	other.becomes(map[string]cityapi.State{h.Name + "-a": run})
	if n, was := len(strings.Fields(sleepsOn(h))), len(strings.Fields(before)); n != was+1 {
		t.Errorf("%d processes with the second city, %d before", n, was)
	}
	if a, b := other.agents()[h.Name+"-a"], c.agents()[h.Name+"-a"]; a.Session == b.Session {
		t.Errorf("both cities have session %s", a.Session)
	}
	other.gc("--city", other.path, "stop")
	if now := sleepsOn(h); now != before {
		t.Errorf("processes %q, after the second city's stop %q", before, now)
	}
}

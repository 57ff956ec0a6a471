//go:build e2e

package e2e

import (
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestLoginsInTheWay: agents live behind a key that may run only gc, and behind a login that
// prints; a key that may run only something else is said, with what it ran, and keeps no
// other agent from starting.
func TestLoginsInTheWay(t *testing.T) {
	forced := sshd.Start(t, sshd.Options{Name: "forced", GC: gcBin, Forced: "exec gc mux dial --many"})
	prints := sshd.Start(t, sshd.Options{Name: "prints", GC: gcBin, Login: `echo welcome; echo "gc-many is not here"; printf no-newline`})
	other := sshd.Start(t, sshd.Options{Name: "other", GC: gcBin, Forced: "echo only git here; exit 1"})
	c := newCity(t, hostDaemon+onHost("f", forced)+onHost("p", prints)+onHost("o", other))
	c.env = append(c.env, "GC_SSH="+sshd.SSH(forced, prints, other))
	r := c.run("start", c.path)
	if r.code != 1 || strings.Contains(r.err, "agent f") || strings.Contains(r.err, "agent p") ||
		!strings.Contains(r.err, "agent o: ") || !strings.Contains(r.err, "only git here") {
		t.Errorf("%s", r)
	}
	c.becomes(map[string]cityapi.State{"f": run, "p": run, "o": away})
	for _, name := range []string{"f", "p"} {
		c.gc("--city", c.path, "peek", name)
		p := c.sit(100, 30, "--city", c.path, "attach", name)
		p.types("typed\r")
		p.sees(`^typed`)
		p.types("\x02d")
		if code := p.done(); code != 0 {
			t.Errorf("attach %s: exit %d", name, code)
		}
	}
	for _, h := range []*sshd.Host{forced, prints} {
		if n := h.Connections(); n != 1 {
			t.Errorf("%d connections to %s", n, h.Name)
		}
		c.gc("session", "new", "x", "--host", h.URL(), "--", "cat")
		if r := c.run("session", "nudge", "x", "hello", "--host", h.URL()); r.code != 0 {
			t.Errorf("%s", r)
		}
		c.gc("session", "kill", "x", "--host", h.URL())
	}
	c.gc("--city", c.path, "stop")
	for _, h := range []*sshd.Host{forced, prints} {
		if out := strings.TrimSpace(c.gc("session", "list", "--host", h.URL(), "--json")); out != "[]" {
			t.Errorf("left on %s: %s", h.Name, out)
		}
	}
}

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// A way that stalls without being cut: the status says within the limit of a ping that
// nothing is known, a terminal says that it waits, and what was typed and sent meanwhile
// arrives once when it flows again.
func TestStalledWay(t *testing.T) {
	c, far := farCity(t)
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"far": run, "near": run})
	p := c.sit(100, 30, "--city", c.path, "attach", "far")
	p.sees(`^ready>`)
	far.Stall()
	begin := time.Now()
	nudged := make(chan result, 1)
	go func() { nudged <- c.run("--city", c.path, "nudge", "far", "echo nudged >> typed") }()
	p.types("echo keys >> typed\r")
	p.sees(`no answer from ssh://far, waiting; keys are kept; ctrl-b d detaches`)
	for c.agents()["far"].State != away {
		if time.Since(begin) > 50*time.Second {
			t.Fatalf("it stalls, and is shown as %+v", c.agents()["far"])
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("unknown after %v: %s", time.Since(begin).Round(time.Millisecond), c.agents()["far"].Error)
	if a := c.agents()["far"]; a.Error == "" {
		t.Errorf("unknown without a reason: %+v", a)
	}
	far.Resume()
	c.becomes(map[string]cityapi.State{"far": run, "near": run})
	r := <-nudged
	t.Logf("nudge: %s", r)
	p.types("echo end >> typed\r")
	typed := func() string {
		b, _ := os.ReadFile(filepath.Join(far.Home, "work", "typed")) // nothing yet
		return string(b)
	}
	eventually(t, func() string { return "typed: " + typed() + "\n" + p.screen() }, func() bool { return strings.Contains(typed(), "end\n") })
	times := func(line string) int { return strings.Count(typed(), line+"\n") }
	if times("keys") != 1 || times("end") != 1 || times("nudged") > 1 || r.code == 0 && times("nudged") != 1 {
		t.Errorf("typed %q; nudge: %s", typed(), r)
	}
	eventually(t, func() string { return "the terminal is not painted anew:\n" + p.screen() }, func() bool { return !strings.Contains(p.screen(), "no answer") })
	p.types("\x02d")
	if code := p.done(); code != 0 {
		t.Errorf("attach: exit %d", code)
	}
	if a := c.agents()["far"]; a.Restarts != 0 {
		t.Errorf("%+v", a)
	}
}

// A way that is cut shows at once, not with the next patrol, also in a city with nothing
// on this machine.
func TestLostWayIsShownAtOnce(t *testing.T) {
	c, far := farCity(t)
	b, err := os.ReadFile(filepath.Join(c.path, "city.toml"))
	if err != nil {
		t.Fatal(err)
	}
	toml, _, _ := strings.Cut(strings.Replace(string(b), `patrol_interval = "300ms"`, `patrol_interval = "10m"`, 1), "[[agents]]\nname = \"near\"")
	c.put("city.toml", toml)
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"far": run})
	for range 3 {
		far.Down()
		begin := time.Now()
		for c.agents()["far"].State != away {
			if time.Since(begin) > 2*time.Second {
				t.Fatalf("lost for %v, and shown as %+v", time.Since(begin), c.agents()["far"])
			}
		}
		t.Logf("shown after %v", time.Since(begin).Round(time.Millisecond))
		far.Up()
		begin = time.Now()
		c.becomes(map[string]cityapi.State{"far": run})
		t.Logf("back after %v", time.Since(begin).Round(time.Millisecond))
	}
}

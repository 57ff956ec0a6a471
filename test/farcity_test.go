//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// farCity is a city with an agent on another machine and one on this.
func farCity(t *testing.T) (*liveCity, *sshd.Host) {
	t.Helper()
	far := sshd.Start(t, sshd.Options{GC: gcBin, Faults: true})
	c := newCity(t, hostDaemon+
		"[[agents]]\nname = \"far\"\nsession = \""+far.URL()+"\"\nwork_dir = \""+far.Home+"/work\"\nready_prompt_prefix = \"ready>\"\n"+
		"start_command = \"exec bash --noprofile --norc -i\"\nenv = {PS1 = \"ready>\", HISTFILE = \"\"}\n"+
		"[[agents]]\nname = \"near\"\nstart_command = \"exec sleep 1000\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH(), "NEAR_ONLY=1")
	return c, far
}

const run, away = cityapi.StateRunning, cityapi.StateUnknown

// An agent of another machine is an agent: it is attached to, watched and nudged there.
func TestAgentOnAnotherMachine(t *testing.T) {
	c, far := farCity(t)
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"far": run, "near": run})
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "text=^ready>")
	r := c.run("--city", c.path, "nudge", "far", "echo $((40 + 2)) as $(id -un) in $PWD near=$NEAR_ONLY.")
	if r.code != 0 {
		t.Errorf("%s", r)
	}
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "text=^42 as "+far.User+" in "+far.Home+"/work near=\\.")
	p := c.sit(100, 30, "--city", c.path, "attach", "far")
	p.sees(`^42 as`)
	p.types("stty size\r")
	p.sees(`^30 100`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		t.Errorf("attach: exit %d", code)
	}
	if out := c.gc("--city", c.path, "peek", "far"); !strings.Contains(out, "42 as "+far.User) {
		t.Errorf("%s", out)
	}
	if a := c.agents()["far"]; a.Host != far.URL() {
		t.Errorf("host: %+v", a)
	}

	if out := c.gc("--city", c.path, "events"); !strings.Contains(out, "far started") || !strings.Contains(out, "on "+far.URL()) {
		t.Errorf("%s", out)
	}

	// Commands use the stream that the controller holds.
	if n := far.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	without := &box{t: t, dir: c.dir, home: c.home, socket: c.socket, env: append(c.env[:len(c.env):len(c.env)], "GC_SSH=false")}
	if out := without.gc("--city", c.path, "peek", "far"); !strings.Contains(out, "42 as "+far.User) {
		t.Errorf("without ssh: %s", out)
	}

	// What a program there says to its city arrives.
	c.gc("--city", c.path, "nudge", "far", "gc nudge near 'from far'")
	eventually(t, func() string { return c.gc("--city", c.path, "nudge", "list") + c.gc("--city", c.path, "peek", "far") }, func() bool {
		return strings.Contains(c.gc("--city", c.path, "nudge", "list"), "from far") || strings.Contains(c.gc("--city", c.path, "peek", "near"), "from far")
	})

	// A turn there is interrupted by a message, and by one from there.
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "idle")
	c.run("--city", c.path, "nudge", "far", "sleep 1000") // it hides the prompt: unverified
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "text=^ready>sleep 1000")
	if r := c.run("--city", c.path, "nudge", "far", "--interrupt", "echo stopped $((40 + 3))"); !strings.HasPrefix(r.out, "submitted (") || strings.Contains(r.out, "no turn") {
		t.Errorf("interrupted by a message: %s", r)
	}
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "text=^stopped 43")
	if out := c.gc("--city", c.path, "events"); !strings.Contains(out, "far interrupted") {
		t.Errorf("%s", out)
	}
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "idle")
	c.run("--city", c.path, "nudge", "far", "gc nudge far --interrupt 'echo again $((40 + 4))'; sleep 1000")
	c.gc("--city", c.path, "wait", "far", "--timeout", "30s", "--until", "text=^again 44")

	// The way to it is lost: nothing is known, nothing is restarted, and it comes back.
	before := far.Run("pgrep -u " + far.User + " -f 'bash --noprofil[e]'")
	far.Down()
	c.becomes(map[string]cityapi.State{"far": away, "near": run})
	if a := c.agents()["far"]; a.Error == "" {
		t.Errorf("unknown without a reason: %+v", a)
	}
	if r := c.run("--city", c.path, "nudge", "far", "lost"); r.code != 4 {
		t.Errorf("a nudge to a machine that is away: %s", r)
	}
	far.Up()
	c.becomes(map[string]cityapi.State{"far": run, "near": run})

	// So is the controller: the next one has its agents.
	c.killController()
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"far": run, "near": run})
	if after := far.Run("pgrep -u " + far.User + " -f 'bash --noprofil[e]'"); after != before {
		t.Errorf("pid %s, then %s", before, after)
	}
	if a := c.agents()["far"]; a.Restarts != 0 {
		t.Errorf("restarted: %+v", a)
	}
	c.gc("--city", c.path, "stop")
	if left := far.Run("pgrep -u " + far.User + " -f 'bash --noprofil[e]' || true"); strings.TrimSpace(left) != "" {
		t.Errorf("left after the stop: %s", left)
	}
}

// TestStartWithoutAMachine: a machine that is away, or whose gc is too old, does not keep
// the agents of others from starting; the status says why its own do not run, and they
// start once it is back.
func TestStartWithoutAMachine(t *testing.T) {
	c, far := farCity(t)
	gc := far.Write(".local/bin/gc", "#!/bin/sh\necho 'gc: unknown flag: --many' >&2\nexit 2\n", 0o755)
	r := c.run("start", c.path)
	if r.code != 1 || strings.Contains(r.err, "agent near") || !strings.Contains(r.err, "agent far: ") ||
		!strings.Contains(r.err, far.URL()+": the gc there is too old for this one\nhint: gc host install "+far.URL()) {
		t.Errorf("%s", r)
	}
	c.becomes(map[string]cityapi.State{"far": away, "near": run})
	if r := c.run("--city", c.path, "status"); !strings.Contains(r.err, "too old for this one\nhint: gc host install "+far.URL()) {
		t.Errorf("%s", r)
	}
	c.gc("--city", c.path, "stop")

	far.Down()
	if r := c.run("start", c.path); r.code != 1 || strings.Contains(r.err, "agent near") {
		t.Errorf("%s", r)
	}
	c.becomes(map[string]cityapi.State{"far": away, "near": run})
	data, err := os.ReadFile(gcBin)
	if err != nil {
		t.Fatal(err)
	}
	far.Write(gc, string(data), 0o755)
	far.Up()
	c.becomes(map[string]cityapi.State{"far": run, "near": run})
}

//go:build e2e

package e2e

import (
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestNoTerminalLeftThere: when a machine has used up its terminals, a start there fails
// with the reason and leaves nothing behind; what runs there runs on, and the agent starts
// once a terminal is free.
func TestNoTerminalLeftThere(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin, Own: &sshd.Own{Terminals: 2}})
	c := newCity(t, hostDaemon+onHost("late", far))
	c.env = append(c.env, "GC_SSH="+far.SSH())
	t.Cleanup(func() { c.run("mux", "stop", "--force", "--host", far.URL()) })
	c.gc("session", "new", "one", "--host", far.URL(), "--", "exec sleep 1000")
	if out := c.gc("host", "check", far.URL()); !strings.Contains(out, "1 of 2 terminals are in use") {
		t.Errorf("%s", out)
	}
	c.gc("session", "new", "two", "--host", far.URL(), "--", "exec sleep 1000")
	before := sleepsOn(far)
	if r := c.run("host", "check", far.URL()); r.code != 1 || !strings.Contains(r.out, "no terminal is free: 2 of 2 are in use\n") {
		t.Errorf("%s", r)
	}

	const left = "cd ~/.local/state/gc && find . | sort; gc session list --all --json | grep '\"name\"'"
	files := far.Run(left)
	c.fails(1, []string{"session", "new", "three", "--host", far.URL(), "--", "cat"}, far.URL(), "no terminal is free")
	r := c.run("start", c.path)
	if r.code != 1 || !strings.Contains(r.err, "agent late: start gc-live-late: "+far.URL()+": the program cannot be started: no terminal is free\nhint: end some sessions there") {
		t.Errorf("%s", r)
	}
	if after := far.Run(left); after != files {
		t.Errorf("there were\n%snow\n%s", files, after)
	}
	if out := c.gc("exec", "--host", far.URL(), "--", "echo works"); out != "works\n" {
		t.Errorf("a command without a terminal: %q", out)
	}

	if now := sleepsOn(far); now != before {
		t.Errorf("pids %s, then %s", before, now)
	}
	c.gc("session", "kill", "two", "--host", far.URL())
	c.becomes(map[string]cityapi.State{"late": run})
	if a := c.agents()["late"]; a.Restarts != 0 || a.Error != "" {
		t.Errorf("late: %+v", a)
	}
}

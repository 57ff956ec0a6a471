//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/acpsh"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/runtime"
)

// farAgent puts this program on the machine and returns the command line that runs it there
// as an agent that says what it is told.
func farAgent(t *testing.T, far *sshd.Host) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	there := far.Write("agent", string(b), 0o755)
	command, err := acpsh.Command("exec cat")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(command, exe, there, 1)
}

// An agent over ACP on another machine is driven as one here: messages, questions,
// interrupts and its log go over the held stream, and it outlives the link and the
// controller.
func TestAgentOverACPOnAnotherMachine(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin, Faults: true})
	c := newCity(t, hostDaemon+
		"[[agents]]\nname = \"a\"\nsession = \"acp+"+far.URL()+"\"\nwork_dir = \""+far.Home+"/work\"\nmcp_servers = [\"gc\"]\nstart_command = \"sh\"\nacp_command = \""+farAgent(t, far)+"\"\n"+
		"[[agents]]\nname = \"screen\"\nsession = \""+far.URL()+"\"\nwork_dir = \""+far.Home+"/work\"\nstart_command = \"exec sleep 1000\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH())
	city := func(args ...string) string {
		t.Helper()
		return c.gc(append([]string{"--city", c.path}, args...)...)
	}
	is := func(state string) {
		t.Helper()
		eventually(t, func() string { return c.agents()["a"].Activity + " is not " + state + "\n" + city("peek", "a") }, func() bool { return c.agents()["a"].Activity == state })
	}
	shows := func(text string) {
		t.Helper()
		eventually(t, func() string { return "no " + text + " in\n" + city("peek", "a") }, func() bool { return strings.Contains(city("peek", "a"), text) })
	}
	city("start")
	c.becomes(map[string]cityapi.State{"a": run, "screen": run})
	is(runtime.ActivityIdle)
	if a := c.agents()["a"]; a.Host != far.URL() || a.ActivityInfo == nil || a.ActivityInfo.Source != "acp" {
		t.Errorf("%+v, %+v", a, a.ActivityInfo)
	}
	if out := city("nudge", "a", "hello there"); out != "submitted\n" {
		t.Errorf("%q", out)
	}
	shows("› hello there")

	ask := func() {
		t.Helper()
		is(runtime.ActivityIdle)
		city("nudge", "a", "ASK execute Yes No", "--delivery", "immediate")
		is(runtime.ActivityBlocked)
		if out := city("pending", "a"); !strings.Contains(out, "1. Yes") {
			t.Errorf("%s", out)
		}
	}
	ask()
	city("respond", "a", "--option", "No")
	shows("chose No")
	is(runtime.ActivityIdle)
	city("nudge", "a", "HOLD", "--delivery", "immediate")
	is(runtime.ActivityWorking)
	city("interrupt", "a")
	is(runtime.ActivityIdle)

	said := func() string { return city("logs", "a") }
	eventually(t, said, func() bool {
		log := said()
		return strings.Contains(log, "hello there") && strings.Contains(log, "chose No") && strings.Contains(log, "cancelled")
	})
	p := c.sit(80, 24, "--city", c.path, "attach", "a")
	p.sees(`^chose No`)
	p.types("typed here\r")
	p.sees(`^typed here`)
	p.types("\x02d")
	p.done()

	// The link and the controller are lost while it asks: the question waits.
	ask()
	agent := func() string { return far.Run("pgrep -u " + far.User + " -f 'gc-internal-ac[p]'") }
	before := agent()
	far.Down()
	c.becomes(map[string]cityapi.State{"a": away, "screen": away})
	if r := c.run("--city", c.path, "nudge", "a", "lost"); r.code != 4 {
		t.Errorf("a nudge to a machine that is away: %s", r)
	}
	c.killController()
	far.Up()
	city("start")
	c.becomes(map[string]cityapi.State{"a": run, "screen": run})
	is(runtime.ActivityBlocked)
	city("respond", "a", "--option", "Yes")
	shows("chose Yes")
	if after := agent(); after != before || c.agents()["a"].Restarts != 0 {
		t.Errorf("pid %s, then %s; %+v", before, after, c.agents()["a"])
	}
	if n := far.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}

	// Ended, and started again, it continues its conversation.
	city("stop")
	if left := strings.TrimSpace(far.Run("pgrep -u " + far.User + " -f 'gc-internal-ac[p]' || true")); left != "" {
		t.Errorf("left after the stop: %s", left)
	}
	if left := strings.TrimSpace(far.Run("ls -d ${TMPDIR:-/tmp}/gc-acp-* 2>/dev/null | xargs -r ls -l | grep " + far.User + " || true")); left != "" && far.User != "root" {
		t.Errorf("launch files are left: %s", left)
	}
	if log := city("logs", "a"); !strings.Contains(log, "chose Yes") {
		t.Errorf("after the stop:\n%s", log)
	}
	city("start")
	c.becomes(map[string]cityapi.State{"a": run, "screen": run})
	is(runtime.ActivityIdle)
	if out := city("nudge", "a", "again"); out != "submitted\n" {
		t.Errorf("%q", out)
	}
}

//go:build e2e

package e2e

import (
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// shellAgent is an agent whose program runs each line as a command: in a directory there, or
// in the city here. bash does not take its prompt from the environment of root.
func shellAgent(name, workDir string) string {
	text := "[[agents]]\nname = \"" + name + "\"\nready_prompt_prefix = \"ready>\"\n" +
		`start_command = "printf 'ready>'; while read -r line; do eval \"$line\"; printf 'ready>'; done"` + "\n"
	if workDir != "" {
		text += "work_dir = \"" + workDir + "\"\n"
	}
	return text
}

// lives checks that every command about an agent reaches its shell, which runs as the user.
func (c *liveCity) lives(agent, user string) {
	c.t.Helper()
	of := func(args ...string) []string { return append([]string{"--city", c.path}, args...) }
	c.gc(of("wait", agent, "--timeout", "20s", "--until", "text=^ready>")...)
	if r := c.run(of("nudge", agent, "echo $((40 + 2)) as $(id -un).")...); r.code != 0 {
		c.t.Errorf("%s", r)
	}
	line := "42 as " + user + "."
	c.gc(of("wait", agent, "--timeout", "20s", "--until", "text=^"+strings.ReplaceAll(line, ".", `\.`))...)
	for _, args := range [][]string{{"peek", agent}, {"logs", agent}, {"status"}} {
		want := line
		if args[0] == "status" {
			want = agent
		}
		if out := c.gc(of(args...)...); !strings.Contains(out, want) {
			c.t.Errorf("gc %v: %s", args, out)
		}
	}
	p := c.sit(100, 30, of("attach", agent)...)
	p.sees(`^42 as`)
	p.types("stty size\r")
	p.sees(`^30 100`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		c.t.Errorf("attach %s: exit %d", agent, code)
	}
}

// stops checks that gc stop leaves nothing on the host.
func (c *liveCity) stops(far *sshd.Host) {
	c.t.Helper()
	c.gc("--city", c.path, "stop")
	if list := strings.TrimSpace(far.Run("gc session list --json")); list != "[]" {
		c.t.Errorf("left there: %s", list)
	}
	if left := c.list(); len(left) != 0 {
		c.t.Errorf("left here: %+v", left)
	}
}

// TestCityOnAnotherMachine: all agents of a city run on the machine of its provider.
func TestCityOnAnotherMachine(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	c := newCity(t, hostDaemon+"[session]\nprovider = \""+far.URL()+"\"\n"+shellAgent("one", far.Home+"/one")+shellAgent("two", far.Home+"/two"))
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"one": run, "two": run})
	for _, a := range c.agents() {
		if a.Host != far.URL() {
			t.Errorf("%+v", a)
		}
	}
	c.lives("one", far.User)
	c.lives("two", far.User)
	if n := far.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	c.killController()
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"one": run, "two": run})
	c.stops(far)
}

// TestHybridCity: the agents whose sessions match run on the other machine, the rest here.
func TestHybridCity(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	c := newCity(t, hostDaemon+"[session]\nprovider = \"hybrid\"\nlocal = \"native\"\nremote = \""+far.URL()+"\"\nremote_match = [\"*-far\"]\n"+
		shellAgent("here", "")+shellAgent("one-far", far.Home+"/one"))
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)
	both := map[string]cityapi.State{"here": run, "one-far": run}
	c.becomes(both)
	if a := c.agents(); a["here"].Host != "" || a["one-far"].Host != far.URL() {
		t.Errorf("%+v", a)
	}
	me := strings.TrimSpace(c.sh("", "id -un"))
	c.lives("here", me)
	c.lives("one-far", far.User)
	c.gc("--city", c.path, "nudge", "one-far", "gc nudge here 'from far'")
	eventually(t, func() string { return c.gc("--city", c.path, "peek", "here") }, func() bool {
		return strings.Contains(c.gc("--city", c.path, "peek", "here"), "from far")
	})

	far.Down()
	c.becomes(map[string]cityapi.State{"here": run, "one-far": away})
	far.Up()
	c.becomes(both)
	if a := c.agents(); a["one-far"].Restarts != 0 || a["here"].Restarts != 0 {
		t.Errorf("%+v", a)
	}
	c.stops(far)
}

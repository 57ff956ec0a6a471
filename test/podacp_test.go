//go:build e2e && k8s && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/acpsh"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// staticSelf is this program for an image without libraries.
func (c *cluster) staticSelf() string {
	c.Helper()
	path := filepath.Join(c.TempDir(), "agent")
	build := exec.Command("go", "test", "-c", "-tags", "e2e,k8s", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		c.Fatalf("%v\n%s", err, out)
	}
	return path
}

// acp: an agent over ACP in a pod is driven as one here, beside one on a terminal in another
// pod: messages, questions, interrupts, its log; a controller that is killed is followed by
// one that adopts it.
func (c *cluster) acp(t *testing.T) {
	command, err := acpsh.Command("exec cat")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	city := newCity(t, inPods(c.account("gc-controller"))+
		"[[agents]]\nname = \"talker\"\nsession = \"acp+k8s\"\nstart_command = \"sh\"\n"+
		"acp_command = \""+strings.Replace(command, exe, "/bin/agent", 1)+"\"\nk8s = {image = \""+acpImage+"\"}\n"+
		"[[agents]]\nname = \"screen\"\nsession = \"k8s\"\nstart_command = \"exec sleep 1000\"\n")
	run := func(args ...string) string {
		t.Helper()
		return city.gc(append([]string{"--city", city.path}, args...)...)
	}
	is := func(state string) {
		t.Helper()
		eventually(t, func() string {
			return city.agents()["talker"].Activity + " is not " + state + "\n" + run("peek", "talker")
		}, func() bool { return city.agents()["talker"].Activity == state })
	}
	shows := func(text string) {
		t.Helper()
		eventually(t, func() string { return "no " + text + " in\n" + run("peek", "talker") }, func() bool { return strings.Contains(run("peek", "talker"), text) })
	}
	both := map[string]cityapi.State{"talker": cityapi.StateRunning, "screen": cityapi.StateRunning}
	run("start")
	city.becomes(both)
	is(runtime.ActivityIdle)
	if a := city.agents()["talker"]; !strings.HasPrefix(a.Host, "k8s:gc-") || a.HostedBy != "acp+k8s" || a.ActivityInfo == nil || a.ActivityInfo.Source != "acp" {
		t.Errorf("%+v, %+v", a, a.ActivityInfo)
	}
	if out := run("nudge", "talker", "hello there"); out != "submitted\n" {
		t.Errorf("%q", out)
	}
	shows("› hello there")
	is(runtime.ActivityIdle)
	run("nudge", "talker", "ASK execute Yes No", "--delivery", "immediate")
	is(runtime.ActivityBlocked)
	if out := run("pending", "talker"); !strings.Contains(out, "1. Yes") {
		t.Errorf("%s", out)
	}

	city.killController()
	run("start")
	city.becomes(both)
	is(runtime.ActivityBlocked)
	run("respond", "talker", "--option", "No")
	shows("chose No")
	is(runtime.ActivityIdle)
	run("nudge", "talker", "HOLD", "--delivery", "immediate")
	is(runtime.ActivityWorking)
	run("interrupt", "talker")
	is(runtime.ActivityIdle)
	said := func() string { return run("logs", "talker") }
	eventually(t, said, func() bool {
		return strings.Contains(said(), "hello there") && strings.Contains(said(), "chose No") && strings.Contains(said(), "cancelled")
	})
	if a := city.agents()["talker"]; a.Restarts != 0 {
		t.Errorf("%+v", a)
	}
	run("stop")
	eventually(t, func() string { return c.kubectl("get", "pods", "-n", "agents") }, func() bool {
		return len(c.pods("-live-talker-", ".metadata.name"))+len(c.pods("-live-screen-", ".metadata.name")) == 0
	})
}

//go:build e2e && k8s && linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// team: a city of ten agents, three here, five in pods and two on another machine, is one
// status and one list of events, and each gets its messages.
func (c *cluster) team(t *testing.T) {
	far := sshd.Start(t, sshd.Options{Name: "builder", GC: gcBin})
	text, want, where := inPods(c.account("gc-controller")), map[string]cityapi.State{}, map[string]string{}
	agent := func(name, more, host string) {
		text += fmt.Sprintf("[[agents]]\nname = %q\n%sstart_command = \"echo $GC_AGENT is ready; exec cat\"\n", name, more)
		want[name], where[name] = cityapi.StateRunning, host
	}
	for _, name := range []string{"mayor", "reviewer", "scribe"} {
		agent(name, "", "")
	}
	for i := range 5 {
		agent(fmt.Sprintf("coder-%d", i+1), "session = \"k8s\"\n", "k8s:gc-live-coder-")
	}
	for _, name := range []string{"linux-build", "bench"} {
		agent(name, fmt.Sprintf("session = %q\nwork_dir = %q\n", far.URL(), far.Home+"/"+name), far.URL())
	}
	city := newCity(t, text)
	city.env = append(city.env, "GC_SSH="+far.SSH())
	run := func(args ...string) string {
		t.Helper()
		return city.gc(append([]string{"--city", city.path}, args...)...)
	}
	started := run("start")
	city.becomes(want)
	for name, a := range city.agents() {
		if host := where[name]; a.Host != host && !(strings.HasPrefix(host, "k8s:") && strings.HasPrefix(a.Host, host)) {
			t.Errorf("%s is on %q, want %q", name, a.Host, host)
		}
	}
	for name := range want {
		eventually(t, func() string { return run("peek", name) }, func() bool { return strings.Contains(run("peek", name), name+" is ready") })
		run("nudge", name, "hello "+name)
		eventually(t, func() string { return run("peek", name) }, func() bool { return strings.Contains(run("peek", name), "hello "+name) })
	}
	status, events := run("status"), run("events")
	for name := range want {
		if !strings.Contains(status, name) || !strings.Contains(events, name+" started") {
			t.Errorf("%s is missing", name)
		}
	}
	t.Logf("$ gc start\n%s\n$ gc status\n%s\n$ gc events\n%s", started, status, events)
	run("stop")
	eventually(t, func() string { return c.kubectl("get", "pods", "-n", "agents") }, func() bool { return len(c.pods("-live-coder-", ".metadata.name")) == 0 })
	if left := strings.TrimSpace(far.Run("pgrep -x -u " + far.User + " cat || true")); left != "" {
		t.Errorf("left on the other machine: %s", left)
	}
}

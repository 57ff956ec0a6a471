//go:build e2e

package e2e

import (
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestFarAgentReadsItsMail: an agent on another machine reads its letters and sees its city
// while the controller is connected to its machine; else it is told so, and can still mark
// letters as done.
func TestFarAgentReadsItsMail(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	far.Write(".local/bin/wake", "#!/bin/sh\nexport -p >me\necho ready\nexec cat\n", 0o755)
	c := newCity(t, hostDaemon+
		"[[agents]]\nname = \"far\"\nsession = \""+far.URL()+"\"\nwork_dir = \""+far.Home+"/work\"\nstart_command = \"exec wake\"\nready_prompt_prefix = \"ready\"\n"+
		"[[agents]]\nname = \"near\"\nstart_command = \"exec sleep 1000\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH())
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"far": run, "near": run})
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "text=^ready")

	// inside runs shell text with the environment of the agent's session.
	inside := func(text string) string {
		return far.Run("cd work && . ./me && { " + text + "; } 2>&1; echo status $?")
	}
	asked := func(text, want string) {
		t.Helper()
		var got string
		eventually(t, func() string { return got }, func() bool {
			got = inside(text)
			return strings.Contains(got, want)
		})
	}
	c.gc("--city", c.path, "mail", "send", "far", "one secret\nof two lines", "--subject", "hello")
	c.gc("--city", c.path, "wait", "far", "--timeout", "20s", "--until", "text=gc mail read shows it")
	asked("gc mail list", "status 0")
	if got := inside("gc mail list"); !strings.Contains(got, "hello") || !strings.Contains(got, " new ") {
		t.Errorf("list: %s", got)
	}
	if got := inside("gc mail read"); !strings.Contains(got, "subject: hello\n    one secret\n    of two lines\n") || !strings.HasSuffix(got, "status 0\n") {
		t.Errorf("read: %s", got)
	}
	if got := inside("gc mail read"); !strings.Contains(got, "no unread mail\nstatus 0") {
		t.Errorf("read again: %s", got)
	}
	if got := inside("gc mail read 1 --agent near"); !strings.Contains(got, "status 1") {
		t.Errorf("another's mail: %s", got)
	}
	if got := inside("gc status"); !strings.Contains(got, "near ") || !strings.Contains(got, far.URL()) || !strings.HasSuffix(got, "status 0\n") {
		t.Errorf("status: %s", got)
	}
	if got := inside("GC_INSTANCE_TOKEN=guess gc mail read"); !strings.Contains(got, "only the running instance") {
		t.Errorf("with another token: %s", got)
	}
	if got := inside("gc mail ack 7"); !strings.Contains(got, "no such letter") || !strings.HasSuffix(got, "status 3\n") {
		t.Errorf("ack of none: %s", got)
	}

	c.killController()
	asked("gc mail read", "the city of this session is on another machine")
	if got := inside("gc mail read"); !strings.Contains(got, "hint: try again later") || !strings.HasSuffix(got, "status 5\n") {
		t.Errorf("away: %s", got)
	}
	if got := inside("gc status"); !strings.HasSuffix(got, "status 5\n") {
		t.Errorf("status while away: %s", got)
	}
	if got := inside("gc mail ack 1"); !strings.Contains(got, "queued in this machine's outbox") || !strings.HasSuffix(got, "status 0\n") {
		t.Errorf("ack while away: %s", got)
	}
	c.gc("start", c.path)
	asked("gc mail list", "no mail\nstatus 0")
	far.Cut()
	asked("gc status", "status 0")
	c.becomes(map[string]cityapi.State{"far": run, "near": run})
}

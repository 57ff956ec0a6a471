//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"gascity.dev/gc/internal/testenv/sshd"
)

// newFar makes another machine on this one, the host of the box's commands from now
// on.
func newFar(t *testing.T, b *box) *sshd.Host {
	t.Helper()
	h := sshd.Start(t, sshd.Options{GC: gcBin})
	h.Write(".bashrc", "PS1='ready> '; unset HISTFILE\n", 0o600)
	b.env = append(b.env, "GC_SSH="+h.SSH(), "GC_HOST="+h.URL())
	t.Cleanup(func() {
		b.run("mux", "stop", "--force")
		b.env = b.env[:len(b.env)-2]
	})
	return h
}

// TestAnotherMachine: everything but files works through a real ssh.
func TestAnotherMachine(t *testing.T) {
	b := newBox(t)
	far := newFar(t, b)
	if r := b.run("mux", "status"); r.code != 3 || !strings.Contains(r.err, "no mux server") {
		t.Fatalf("%s", r)
	}
	b.gc("session", "new", name, "--", "bash", "--noprofile", "-i")
	b.waits("text=^ready>")
	b.gc("session", "nudge", name, "echo $((40 + 2)) at $PWD")
	b.waits("text=^42 at " + far.Home)
	p := b.sit(100, 30, "session", "attach", name)
	p.sees(`^42 at`)
	p.types("stty size\r")
	p.sees(`^30 100`)
	p.types("for i in $(seq 1 3000); do echo line $i; done\r")
	p.sees(`^line 3000`)
	p.resize(80, 24)
	p.types("stty size\r")
	p.sees(`^24 80`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.restored()
	if s := b.session(name); s.Attached != 0 {
		t.Errorf("%d attached", s.Attached)
	}
	here := &box{t: t, dir: b.dir, home: b.home, socket: b.socket, env: append(b.env[:len(b.env):len(b.env)], "GC_HOST=")}
	if r := here.run("mux", "status"); r.code != 3 {
		t.Errorf("a server is here: %s", r)
	}
	b.gc("session", "kill", name)
}

// TestInstallOnAnotherMachine: a machine without gc gets this very program, hosts
// sessions, and its server moves to the program without their end.
func TestInstallOnAnotherMachine(t *testing.T) {
	b := newBox(t)
	h := sshd.Start(t, sshd.Options{Login: "echo welcome"})
	b.env = append(b.env, "GC_SSH="+h.SSH())
	b.fails(4, []string{"session", "list", "--host", h.URL()}, "gc was not found there")
	b.gc("host", "add", "build", h.URL())
	placeMCP(t)
	if out := b.gc("host", "install", "build"); !strings.Contains(out, h.GC) || !strings.Contains(out, h.GC+"-mcp") {
		t.Errorf("installed: %s", out)
	}
	if says := h.Run("~/.local/bin/gc-mcp version"); !strings.Contains(says, "\ngc-mcp ") {
		t.Errorf("gc-mcp there: %s", says)
	}
	if same := h.Run("cmp - ~/.local/bin/gc <" + gcBinFor(t, h) + " && echo same"); !strings.Contains(same, "same") {
		t.Errorf("the programs differ: %s", same)
	}
	b.gc("host", "check", "build")
	b.env = append(b.env, "GC_HOST=build")
	b.gc("session", "new", name, "--", "sh", "-c", "echo ready; exec cat")
	b.waits("text=^ready")
	before := b.status()
	b.gc("mux", "upgrade")
	if after := b.status(); after.Server.PID == before.Server.PID || after.Keeper.PID != before.Keeper.PID || after.Sessions != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	b.gc("session", "nudge", name, "still here")
	b.waits("text=^still here")
	b.gc("session", "kill", name)
	b.gc("mux", "stop")
}

// gcBinFor is a copy of the program under test that the host's user can read.
func gcBinFor(t *testing.T, h *sshd.Host) string {
	t.Helper()
	data, err := os.ReadFile(gcBin)
	if err != nil {
		t.Fatal(err)
	}
	return h.Write("original", string(data), 0o600)
}

//go:build e2e

package e2e

import (
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

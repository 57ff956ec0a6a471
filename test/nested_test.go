//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAttachThroughSSHToItself: a session whose program logged in to this
// machine by ssh, and attaches there to the session itself, is rejected: the
// client is not a descendant of the session's program, and its environment does
// not name the session.
func TestAttachThroughSSHToItself(t *testing.T) {
	b := newBox(t)
	far := newFar(t, b)
	b.gc("session", "new", name, "--", "bash", "--noprofile", "-i")
	b.waits("text=^ready>")
	b.gc("session", "nudge", name, far.SSH()+" -tt far gc session attach "+name+"; echo left with $?")
	b.waits("text=a session cannot show itself")
	b.waits("text=^left with 1")
	if s := b.session(name); s.Attached != 0 {
		t.Errorf("%d attached", s.Attached)
	}
	b.gc("session", "kill", name)
}

// TestAttachThroughTmuxToItself: a session that shows a tmux, whose server was
// started elsewhere, is not shown in a pane of that tmux. tmux passes no mark on,
// and the pane's processes are not descendants of the session's.
func TestAttachThroughTmuxToItself(t *testing.T) {
	b := newBox(t)
	need(t, "tmux")
	socket := filepath.Join(b.dir, "tmux.sock")
	tmux := func(args ...string) {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = b.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
	}
	tmux(append([]string{"new-session", "-d", "-s", "inner", "-x", "80", "-y", "20"}, b.bashArgs()...)...)
	t.Cleanup(func() { tmux("kill-server") })
	b.gc(append([]string{"session", "new", name, "--"}, b.bashArgs()...)...)
	b.waits("text=^ready>")
	b.gc("session", "nudge", name, "tmux -S "+socket+" attach")
	b.waits("text=inner")
	tmux("send-keys", "-t", "inner", gcBin+" session attach "+name+"; echo left with $?", "Enter")
	b.waits("text=a session cannot show itself")
	b.waits("text=^left with 1")
	if s := b.session(name); s.Attached != 0 {
		t.Errorf("%d attached", s.Attached)
	}
	b.gc("session", "kill", name)
}

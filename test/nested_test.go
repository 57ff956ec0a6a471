//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttachThroughSSHToItself: a session whose program logged in to this
// machine by ssh, and attaches there to the session itself, is rejected: the
// client is not a descendant of the session's program, and its environment does
// not name the session.
func TestAttachThroughSSHToItself(t *testing.T) {
	b := newBox(t)
	port := serveSSH(t, b)
	dir := filepath.Join(b.dir, "ssh")
	config := b.read(filepath.Join(dir, "ssh_config"))
	config = strings.Split(config, "ProxyCommand")[0] + fmt.Sprintf("HostName 127.0.0.1\n  HostKeyAlias far\n  Port %d\n", port)
	direct := b.file("direct", config)
	b.gc(append([]string{"session", "new", name, "--"}, b.bashArgs()...)...)
	b.waits("text=^ready>")
	b.gc("session", "nudge", name, "ssh -tt -F "+direct+" far "+gcBin+" session attach "+name+"; echo left with $?")
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

// serveSSH runs an sshd of the box's own on a loopback port, one process per
// connection, like inetd.
func serveSSH(t *testing.T, b *box) (port int) {
	t.Helper()
	newFar(t, b)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sshd := needSbin(t, "sshd")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f, err := conn.(*net.TCPConn).File()
			if err != nil {
				t.Error(err)
				return
			}
			cmd := exec.Command(sshd, "-i", "-f", filepath.Join(b.dir, "ssh", "sshd_config"))
			cmd.Stdin, cmd.Stdout = f, f
			if err := cmd.Run(); err != nil {
				t.Log(err)
			}
			_ = f.Close()
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().(*net.TCPAddr).Port
}

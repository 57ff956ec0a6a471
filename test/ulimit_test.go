//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// under runs gc from a shell that first sets a limit.
func (b *box) under(limit string, args ...string) result {
	b.t.Helper()
	argv := append([]string{"bash", "-c", limit + ` && exec "$0" "$@"`, gcBin}, args...)
	if os.Geteuid() == 0 { // root could raise a hard limit
		argv = append([]string{need(b.t, "setpriv"), "--bounding-set=-sys_resource"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = b.env, b.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return result{args, "", string(out), cmd.ProcessState.ExitCode()}
}

// TestStartersLimits: limits of the shell that starts the mux apply to
// programs, not to the mux.
func TestStartersLimits(t *testing.T) {
	b := newBox(t)
	const show = "ulimit -S -f; ulimit -S -t; exec cat"
	if r := b.under("ulimit -S -f 0 && ulimit -S -t 1234", "session", "new", name, "--", "bash", "-c", show); r.code != 0 {
		t.Fatal(r)
	}
	b.waits("text=^1234$")
	if got := b.screen(); strings.TrimSpace(got) != "0\n1234" {
		t.Errorf("a program's limits: %q", got)
	}
	b.gc("session", "new", "writer", "--", "bash", "-c", "seq 20000; (echo x >file) || echo limited; exec cat")
	b.gc("session", "wait", "writer", "--until", "text=^limited", "--timeout", patience.String())
	if lines := strings.Count(b.gc("session", "peek", "writer", "--all"), "\n"); lines < 10000 {
		t.Errorf("%d lines of history are left", lines)
	}

	before := b.status()
	if err := syscall.Kill(before.Keeper.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string { return "a new keeper" }, func() bool {
		now := b.status().Keeper.PID
		return now != 0 && now != before.Keeper.PID
	})
	b.gc("session", "new", "later", "--", "bash", "-c", show)
	b.gc("session", "wait", "later", "--until", "text=^1234$", "--timeout", patience.String())
}

// TestHardLimitIsTooSmall: if the limit cannot be raised, the mux does not
// start, and says why.
func TestHardLimitIsTooSmall(t *testing.T) {
	b := newBox(t)
	r := b.under("ulimit -f 100", "session", "new", name, "--", "sleep 1000")
	if r.code != 1 || !strings.Contains(r.err, "ulimit -H -f") || !strings.Contains(r.err, "hint: ") {
		t.Errorf("want an error and a hint: %s", r)
	}
	if left := runningWithHome(b.home); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "mux.sock")); err == nil {
		t.Error("a socket is left behind")
	}
	b.gc("session", "new", name, "--", "sleep 1000")
}

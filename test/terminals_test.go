//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// fewTerminals runs gc where the machine has n terminals: with a private mount,
// which the mux started by gc keeps.
func (b *box) fewTerminals(n int, args ...string) {
	b.t.Helper()
	argv := []string{need(b.t, "unshare"), "--mount"}
	if os.Geteuid() != 0 {
		argv = append(argv, "--map-root-user")
	}
	mount := "mount -t devpts -o newinstance,ptmxmode=0666,max=" + strconv.Itoa(n) + ` devpts /dev/pts && exec "$0" "$@"`
	argv = append(append(argv, "sh", "-c", mount, gcBin), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = b.env, b.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("gc %v: %v: %s", args, err, out)
	}
}

// TestTerminalsRunOut: the error says so, running sessions are not affected,
// and sessions can be created again when a terminal is free.
func TestTerminalsRunOut(t *testing.T) {
	b := newBox(t)
	b.fewTerminals(2, "session", "new", "first", "--", "echo alive; exec cat")
	b.gc("session", "new", "second", "--", "exec cat")
	before := b.status()
	for range 3 {
		b.fails(1, []string{"session", "new", "third", "--", "exec cat"}, "no terminal is free")
	}
	if list := b.list("--all"); len(list) != 2 {
		t.Errorf("sessions: %+v", list)
	}
	if after := b.status(); after.Server.PID != before.Server.PID || after.Keeper.PID != before.Keeper.PID {
		t.Errorf("the mux became another: %+v, before %+v", after, before)
	}
	b.gc("session", "nudge", "first", "still here")
	b.gc("session", "wait", "first", "--until", "text=still here", "--timeout", patience.String())

	b.gc("session", "kill", "second")
	b.gc("session", "new", "third", "--", "echo at last; exec cat")
	b.gc("session", "wait", "third", "--until", "text=at last", "--timeout", patience.String())
}

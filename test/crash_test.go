//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gascity.dev/gc/internal/proctree"
)

func kill9(t *testing.T, pid int) {
	t.Helper()
	p, err := proctree.Get(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string { return "the process lives on" }, func() bool { return !p.Alive() })
}

// TestServerKilled: kill -9 of the server ends no session; metadata and exit
// statuses stay, and input and output continue.
func TestServerKilled(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, "seq 1 200; echo before $$")
	b.waits("text=^before ")
	b.gc("session", "meta", "set", name, "color", "blue and\nlong")
	b.gc("session", "new", "ended", "--", "exit 5")
	b.gc("session", "wait", "ended", "--until", "exit", "--timeout", patience.String())
	before, status := b.session(name), b.status()

	for round := range 3 {
		kill9(t, b.status().Server.PID)
		after := b.session(name)
		if after.PID != before.PID || after.ID != before.ID || after.State != "running" {
			t.Fatalf("round %d: %+v, was %+v", round, after, before)
		}
		if got := strings.TrimSuffix(b.gc("session", "meta", "get", name, "color"), "\n"); got != "blue and\nlong" {
			t.Errorf("round %d: metadata %q", round, got)
		}
		if e := b.session("ended").Exit; e == nil || e.Code != 5 {
			t.Errorf("round %d: the ended session has exit %+v", round, e)
		}
	}
	now := b.status()
	if now.Keeper.PID != status.Keeper.PID || now.Server.PID == status.Server.PID {
		t.Errorf("keeper %d→%d, server %d→%d", status.Keeper.PID, now.Keeper.PID, status.Server.PID, now.Server.PID)
	}
	b.gc("session", "nudge", name, "echo after $((1 + 1))")
	b.waits("text=^after 2")
}

// TestServerKilledKeepsEveryByte: screen, history and output written while
// servers die are complete afterwards.
func TestServerKilledKeepsEveryByte(t *testing.T) {
	b := newBash(t)
	b.gc("session", "nudge", name, "seq 1 3000; printf '\\e[31;44mcolour\\e[m\\n'; echo before $$")
	b.waits("text=^before ")
	screen, all, ansi := b.screen(), b.gc("session", "peek", name, "--all"), b.gc("session", "peek", name, "--format", "ansi")
	b.gc("session", "new", "ticker", "--", "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.01; done")
	b.gc("session", "wait", "ticker", "--until", "text=^tick 3$", "--timeout", patience.String())
	for round := range 4 {
		kill9(t, b.status().Server.PID)
		if got := b.screen(); got != screen {
			t.Errorf("round %d: the screen is\n%s\nwas\n%s", round, got, screen)
		}
		if got := b.gc("session", "peek", name, "--all"); got != all {
			t.Errorf("round %d: the history has %d bytes, had %d", round, len(got), len(all))
		}
		if got := b.gc("session", "peek", name, "--format", "ansi"); got != ansi {
			t.Errorf("round %d: the attributes are\n%q\nwere\n%q", round, got, ansi)
		}
	}
	b.gc("session", "interrupt", "ticker")
	b.gc("session", "wait", "ticker", "--until", "exit", "--timeout", patience.String())
	ticks := strings.Fields(strings.NewReplacer("tick", " ", "^C", " ").Replace(b.gc("session", "peek", "ticker", "--all")))
	for i, tick := range ticks {
		if tick != itoa(i+1) {
			t.Fatalf("tick %d is %s", i+1, tick)
		}
	}
}

// TestExitWhileTheServerIsDown: the keeper records the status of a program that
// ends at that moment.
func TestExitWhileTheServerIsDown(t *testing.T) {
	b := newBash(t)
	s := b.status()
	if err := syscall.Kill(s.Server.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(b.sessionPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kill9(t, s.Server.PID)
	b.gc("session", "wait", name, "--until", "exit", "--timeout", patience.String())
	e := b.session(name).Exit
	if e == nil || e.Signal != "SIGKILL" && e.Signal != "KILL" && e.Signal != "killed" {
		t.Errorf("exit %+v", e)
	}
}

// sessionPID finds the shell while no server can be queried.
func (b *box) sessionPID() int {
	b.t.Helper()
	all, err := proctree.Table()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range all {
		env, err := proctree.Environ(p.PID)
		if err == nil && env["HOME"] == b.home && p.Comm == "bash" {
			return p.PID
		}
	}
	b.t.Fatal("no shell found")
	return 0
}

// TestEverythingKilled: a dead server and keeper leave a socket behind; the
// next command starts new ones, and the old session is not reported as running.
func TestEverythingKilled(t *testing.T) {
	b := newBash(t)
	shell := b.session(name).PID
	s := b.status()
	// Stopped first, so that it cannot save anything from the dying keeper.
	if err := syscall.Kill(s.Server.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	kill9(t, s.Keeper.PID)
	kill9(t, s.Server.PID)
	if p, err := proctree.Get(shell); err == nil && !p.Zombie() {
		// The hang-up of its terminal ends the shell.
		eventually(t, func() string { return "the shell lives on" }, func() bool { return !p.Alive() })
	}
	if r := b.run("session", "peek", "other"); r.code != 3 {
		t.Errorf("want 3: %s", r)
	}
	b.gc("session", "new", "again", "--", "sleep 1000")
	for _, s := range b.list() {
		if s.Name != "again" {
			t.Errorf("%+v is listed as running", s)
		}
	}
}

// TestKeeperKilled: the server holds the terminals, gets a new keeper, and the
// sessions continue, even if the server dies afterwards.
func TestKeeperKilled(t *testing.T) {
	b := newBash(t)
	b.gc("session", "meta", "set", name, "k", "v")
	before, first := b.session(name), b.status()
	kill9(t, first.Keeper.PID)
	eventually(t, func() string { return fmt.Sprintf("no other keeper: %+v", b.status()) }, func() bool {
		s := b.status()
		return s.Keeper.PID != 0 && s.Keeper.PID != first.Keeper.PID
	})
	for _, what := range []string{"keeper", "keeper and server"} {
		if what != "keeper" {
			kill9(t, b.status().Server.PID)
		}
		after := b.session(name)
		if after.PID != before.PID || after.ID != before.ID || after.State != "running" {
			t.Fatalf("after the death of the %s: %+v, was %+v", what, after, before)
		}
		b.gc("session", "nudge", name, "echo "+strings.ReplaceAll(what, " ", "-")+" is gone")
		b.waits("text=^" + strings.ReplaceAll(what, " ", "-") + " is gone")
		if got := strings.TrimSpace(b.gc("session", "meta", "get", name, "k")); got != "v" {
			t.Errorf("metadata %q", got)
		}
	}
}

// TestSocketOfADeadServer: a socket file without a listener.
func TestSocketOfADeadServer(t *testing.T) {
	b := newBox(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if out := b.gc("session", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("list: %s", out)
	}
	b.gc("session", "new", name, "--", "sleep 1000")
	if s := b.session(name); s.State != "running" {
		t.Errorf("%+v", s)
	}
}

// TestSocketRemoved: the server recreates its socket.
func TestSocketRemoved(t *testing.T) {
	b := newBash(t)
	pid := b.status().Server.PID
	if err := os.Remove(b.socket); err != nil {
		t.Fatal(err)
	}
	b.gc("session", "new", "other", "--", "sleep 1000")
	if len(b.list()) != 2 || b.status().Server.PID != pid {
		t.Errorf("%+v, server %d, was %d", b.list(), b.status().Server.PID, pid)
	}
}

// TestLongSocketPath: longer than a socket address can be.
func TestLongSocketPath(t *testing.T) {
	b := newBox(t)
	dir := b.dir
	for range 3 {
		dir = filepath.Join(dir, strings.Repeat("deep", 20))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.socket = filepath.Join(dir, "mux.sock")
	b.env = append(b.env, "GC_MUX_SOCKET="+b.socket)
	b.gc("session", "new", name, "--", "sleep 1000")
	if s := b.session(name); s.State != "running" {
		t.Errorf("%+v", s)
	}
}

// TestDefaultPlace: without GC_MUX_SOCKET everything is in the state directory,
// which only the user can read.
func TestDefaultPlace(t *testing.T) {
	b := newBox(t)
	b.socket = filepath.Join(b.dir, "state", "gc", "mux.sock")
	b.env = append(b.env, "GC_MUX_SOCKET=")
	b.gc("session", "new", name, "--", "sleep 1000")
	for path, perm := range map[string]os.FileMode{filepath.Dir(b.socket): 0o700, b.socket: 0o600, filepath.Join(filepath.Dir(b.socket), "mux.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
}

// TestKillEndsTheTree: including children that left the terminal and the
// session.
func TestKillEndsTheTree(t *testing.T) {
	b := newBox(t)
	pids := filepath.Join(b.dir, "pids")
	b.gc("session", "new", name, "--", `sleep 1000 & (setsid sleep 1000 & echo $! >> `+pids+`); trap '' TERM; bash -c 'trap "" TERM HUP; echo $$ >> `+pids+`; exec sleep 1000' & echo $! $$ >> `+pids+`; echo up; wait; wait; wait`)
	b.waits("text=^up$")
	eventually(t, func() string { return "no pids" }, func() bool {
		data, err := os.ReadFile(pids)
		return err == nil && len(strings.Fields(string(data))) >= 4
	})
	b.gc("session", "kill", name)
	for _, f := range strings.Fields(b.read(pids)) {
		if _, err := os.Stat("/proc/" + f); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %s is still there", f)
		}
	}
	if list := b.list("--all"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
)

// patience is how long a test waits for an expected condition; only a failing
// test waits that long.
const patience = 15 * time.Second

// hangs is the time limit of one command.
const hangs = time.Minute

// box is a test's private environment.
type box struct {
	t      *testing.T
	dir    string
	home   string
	socket string
	env    []string
}

func newBox(t *testing.T) *box {
	t.Helper()
	t.Parallel() // boxes are independent
	b := &box{t: t, dir: t.TempDir()}
	b.home = filepath.Join(b.dir, "home")
	b.socket = filepath.Join(b.dir, "mux.sock")
	if err := os.Mkdir(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "SHELL=/bin/bash", "LANG=C.UTF-8",
		"XDG_STATE_HOME=" + filepath.Join(b.dir, "state"), "GC_MUX_SOCKET=" + b.socket,
		"TERM=xterm-256color", "TZ=UTC", "GC_TRUST=1",
	}
	t.Cleanup(b.endTmux)
	t.Cleanup(b.shutdown)
	return b
}

// endTmux ends the tmux servers that still hold ended sessions' last screens.
func (b *box) endTmux() {
	sockets, err := filepath.Glob(filepath.Join(b.dir, "state", "gc", "tmux", "*"))
	if err != nil {
		b.t.Error(err)
	}
	for _, s := range sockets {
		if info, err := os.Stat(s); err != nil || info.Mode()&fs.ModeSocket == 0 {
			continue
		}
		if out, err := exec.Command("tmux", "-S", s, "kill-server").CombinedOutput(); err != nil && !strings.Contains(string(out), "no server") {
			b.t.Errorf("tmux kill-server: %v: %s", err, out)
		}
	}
}

// shutdown stops the mux and checks that it and its keeper are gone.
func (b *box) shutdown() {
	if _, err := os.Stat(b.socket); errors.Is(err, os.ErrNotExist) {
		return
	}
	before := b.status()
	if r := b.run("mux", "stop", "--force"); r.code != 0 && r.code != 3 {
		b.t.Errorf("mux stop: %s", r)
	}
	for _, pid := range []int{before.Server.PID, before.Keeper.PID} {
		if p, err := proctree.Get(pid); pid != 0 && err == nil && !p.Zombie() {
			b.t.Errorf("process %d (%s) outlived mux stop", pid, p.Comm)
		}
	}
}

// result is the result of a command.
type result struct {
	args     []string
	out, err string
	code     int
}

func (r result) String() string {
	return strings.Join(r.args, " ") + "\nexit " + itoa(r.code) + "\nstdout: " + r.out + "\nstderr: " + r.err
}

// run runs gc with the box's environment.
func (b *box) run(args ...string) result { return b.runIn("", args...) }

func (b *box) runIn(stdin string, args ...string) result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, gcBin, args...)
	cmd.Env, cmd.Dir = b.env, b.dir
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	// A session of its own: without the terminal of whoever runs the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := cmd.Run()
	if ctx.Err() != nil {
		b.t.Fatalf("gc %s hangs", strings.Join(args, " "))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return result{args, out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// gc is run for a command that must succeed; it returns standard output.
func (b *box) gc(args ...string) string {
	b.t.Helper()
	r := b.run(args...)
	if r.code != 0 {
		b.t.Fatalf("gc %s", r)
	}
	return r.out
}

// fails is run for a command that must fail with the given status, with one
// "gc:" line that contains all the texts, and with a hint.
func (b *box) fails(code int, args []string, texts ...string) result {
	b.t.Helper()
	r := b.run(args...)
	var first, hint string
	lines := 0
	for _, line := range strings.Split(r.err, "\n") {
		if strings.HasPrefix(line, "gc: ") {
			first = line
			lines++
		}
		if strings.HasPrefix(line, "hint: ") {
			hint = line
		}
	}
	if r.code != code || lines != 1 || hint == "" {
		b.t.Errorf("want status %d, one line of error and a hint: gc %s", code, r)
	}
	for _, text := range texts {
		if !strings.Contains(first, text) {
			b.t.Errorf("the error does not say %q: gc %s", text, r)
		}
	}
	return r
}

// muxStatus is the output of gc mux status --json.
type muxStatus struct {
	Version string
	Socket  string
	Server  struct {
		PID         int
		MemoryBytes int64
	}
	Keeper struct {
		PID         int
		MemoryBytes int64
	}
	Sessions int
}

// status is zero if there is no server.
func (b *box) status() (s muxStatus) {
	b.t.Helper()
	r := b.run("mux", "status", "--json")
	if r.code == 0 {
		b.decode(r.out, &s)
	}
	return s
}

// sessionInfo is an element of gc session list --json.
type sessionInfo struct {
	ID, Name, State, Command, WorkDir string
	PID, Attached                     int
	Size                              struct{ Cols, Rows int }
	Exit                              *exitInfo
}

// exitInfo is how a session ended.
type exitInfo struct {
	Code           int
	Signal, Reason string
}

func (b *box) list(flags ...string) (list []sessionInfo) {
	b.t.Helper()
	b.decode(b.gc(append([]string{"session", "list", "--json"}, flags...)...), &list)
	return list
}

// session returns the listed session of that name.
func (b *box) session(name string) sessionInfo {
	b.t.Helper()
	for _, s := range b.list("--all") {
		if s.Name == name {
			return s
		}
	}
	b.t.Fatalf("%s is not listed", name)
	return sessionInfo{}
}

func (b *box) decode(text string, v any) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		b.t.Fatalf("%v in %s", err, text)
	}
}

// file writes a file in the box and returns its path.
func (b *box) file(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *box) read(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// eventually polls until ok holds: for conditions without an event.
func eventually(t *testing.T, what func() string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// within is eventually with a limit of its own.
func within(t *testing.T, limit time.Duration, what func() string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen in %v: %s", limit, what())
		}
		<-tick.C
	}
}

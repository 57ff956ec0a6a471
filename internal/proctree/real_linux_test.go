package proctree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var idCounter atomic.Int64

// child is a real process whose first output is its report.
type child struct {
	*exec.Cmd
	t     *testing.T
	id    string // its GC_SESSION_ID
	lines *bufio.Scanner
	ended chan struct{}
}

// startChild runs a shell script as a session leader with a marker of its own.
// The whole tree is killed at the end of the test.
func startChild(t *testing.T, argv ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(argv[0], argv[1:]...), t: t, ended: make(chan struct{})}
	c.id = fmt.Sprintf("proctree-%d-%d", os.Getpid(), idCounter.Add(1))
	c.Env = append(os.Environ(), SessionVar+"="+c.id)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Stdin stays open, so that "read" waits.
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	t.Cleanup(func() {
		if err := Kill(context.Background(), c.members, 0); err != nil {
			t.Error(err)
		}
		c.wait()
	})
	return c
}

func sh(t *testing.T, script string) *child { return startChild(t, "bash", "--norc", "-c", script) }

func (c *child) members() ([]Proc, error) { return Members(c.Process.Pid, c.Process.Pid, c.id) }

// line waits for the next line of output.
func (c *child) line() string {
	c.t.Helper()
	if !c.lines.Scan() {
		c.t.Fatalf("no output: %v", c.lines.Err())
	}
	return c.lines.Text()
}

// pid waits for a line that is a pid.
func (c *child) pid() int {
	c.t.Helper()
	n, err := strconv.Atoi(c.line())
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// wait reaps the process, once.
func (c *child) wait() {
	select {
	case <-c.ended:
	default:
		_ = c.Wait()
		close(c.ended)
	}
}

// await polls a process until a condition holds: the kernel has no event for a
// stop, or for another's child becoming a zombie.
func await(t *testing.T, pid int, what string, cond func(Proc, error) bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		p, err := Get(pid)
		if cond(p, err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d is not %s: %+v %v", pid, what, p, err)
		}
		<-time.After(time.Millisecond)
	}
}

func (c *child) kill(grace time.Duration) error {
	return Kill(c.t.Context(), c.members, grace)
}

func (c *child) expectGone(pids ...int) {
	c.t.Helper()
	for _, pid := range pids {
		if p, err := Get(pid); err == nil && !p.Zombie() {
			c.t.Errorf("still there: %+v", p)
		}
	}
	left, err := c.members()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, p := range left {
		if !p.Zombie() {
			c.t.Errorf("member left: %+v", p)
		}
	}
}

func TestGet(t *testing.T) {
	c := sh(t, `echo $$; read`)
	in := c.pid()
	p, err := Get(in)
	if err != nil || p.PID != c.Process.Pid || p.PPID != os.Getpid() || p.SID != p.PID || p.PGID != p.PID || p.Comm != "bash" {
		t.Fatalf("got %+v %v", p, err)
	}
	if p.Zombie() || !p.same() || !p.Alive() {
		t.Error("a live process is not alive")
	}
	later := p
	later.Start++
	if later.same() || later.Alive() {
		t.Error("another incarnation is mistaken for this one")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, p.PID, "a zombie", func(p Proc, _ error) bool { return p.Zombie() })
	if !p.same() || p.Alive() {
		t.Error("a zombie is this incarnation, and not alive")
	}
	c.wait()
	if _, err := Get(p.PID); !errors.Is(err, ErrNotFound) || p.same() {
		t.Errorf("got %v", err)
	}
}

func TestTableHoldsUs(t *testing.T) {
	all, err := Table()
	if err != nil || !slices.IsSortedFunc(all, func(a, b Proc) int { return a.PID - b.PID }) {
		t.Fatal(err)
	}
	if !slices.Contains(pids(all), os.Getpid()) || !slices.Contains(pids(all), os.Getppid()) {
		t.Errorf("got %v", pids(all))
	}
}

func TestFacts(t *testing.T) {
	c := startChild(t, "bash", "--norc", "-c", "echo; read", "name", "", "two words", "")
	c.line()
	pid := c.Process.Pid
	argv, err := Cmdline(pid)
	if err != nil || !slices.Equal(argv, c.Args) {
		t.Errorf("got %q %v", argv, err)
	}
	env, err := Environ(pid)
	if err != nil || env[SessionVar] != c.id || env["PATH"] != os.Getenv("PATH") {
		t.Errorf("got %v %v", env, err)
	}
	path, err := Exe(pid)
	if err != nil || filepath.Base(path) != "bash" {
		t.Errorf("got %q %v", path, err)
	}
	for name, err := range map[string]error{"Environ": second(Environ(1 << 30)), "Cmdline": second(Cmdline(1 << 30)), "Exe": second(Exe(1 << 30)), "Get": second(Get(-1))} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestMatchesRealProcesses(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "my-agent.sh")
	if err := testenv.WriteProgram(script, []byte("#!/bin/bash\necho; read\n")); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copied tool")
	if err := exec.Command("cp", "/bin/bash", copied).Run(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name     string
		argv     []string
		yes, no  []string
		deleting string
	}{
		{"script by its shebang", []string{script}, []string{"my-agent.sh", "my-agent", "bash"}, []string{"my", "agent", script}, ""},
		{"script of an interpreter", []string{"bash", script}, []string{"my-agent", "bash"}, []string{"sh"}, ""},
		{"code is not a script", []string{"bash", "-c", "echo; read", "my-agent"}, []string{"bash"}, []string{"my-agent", "echo"}, ""},
		{"executable that was removed", []string{copied, "-c", "echo; read"}, []string{"copied tool"}, []string{"bash", "copied"}, copied},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := startChild(t, c.argv...)
			p.line()
			if c.deleting != "" {
				if err := os.Remove(c.deleting); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range c.yes {
				if !Matches(p.Process.Pid, []string{"other", name}) {
					t.Errorf("%q does not match", name)
				}
			}
			if Matches(p.Process.Pid, c.no) || Matches(p.Process.Pid, nil) {
				t.Errorf("one of %q matches", c.no)
			}
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			await(t, p.Process.Pid, "a zombie", func(p Proc, _ error) bool { return p.Zombie() })
			if Matches(p.Process.Pid, c.yes) {
				t.Error("a zombie matches")
			}
		})
	}
}

func TestMatchesPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		python = "" // then the shell stands in below
	}
	dir := t.TempDir()
	file, code := "tool.py", "import sys\nprint(flush=True)\nsys.stdin.readline()\nsys.stdin.read()\nimport time\ntime.sleep(600)\n"
	argv := []string{python, "-u", filepath.Join(dir, file)}
	if python == "" {
		file, code, argv = "tool.sh", "echo; read x\n", []string{"sh", filepath.Join(dir, "tool.sh")}
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, argv...)
	c.line()
	all, err := c.members()
	if err != nil {
		t.Fatal(err)
	}
	// Version managers wrap the interpreter in shells: it is somewhere in the
	// tree.
	found := slices.ContainsFunc(all, func(p Proc) bool { return Matches(p.PID, []string{"tool"}) })
	if !found {
		t.Errorf("nothing in %v matches", all)
	}
}

// family: a child in the tree, one with setsid whose parent has ended, one with
// setsid and without the marker whose parent lives.
const family = `
sleep 1000 & echo $!
(setsid bash -c 'echo $$; exec sleep 1000' & )
setsid env -u GC_SESSION_ID bash -c 'echo $$; exec sleep 1000' &
trap : TERM; wait; wait; wait
`

func TestMembersOfARealTree(t *testing.T) {
	c := sh(t, family)
	want := []int{c.Process.Pid, c.pid(), c.pid(), c.pid()}
	slices.Sort(want)
	got, err := c.members()
	if err != nil {
		t.Fatal(err)
	}
	// The middle one forks nothing itself; others may be exiting.
	for _, pid := range want {
		if !slices.Contains(pids(got), pid) {
			t.Errorf("%d is missing in %+v", pid, got)
		}
	}
	scan := Tree{Root: c.Process.Pid, SID: c.Process.Pid, ID: c.id}.Scanner()
	for range 2 {
		again, err := scan()
		if err != nil || len(again) < len(want) {
			t.Errorf("got %v %v", again, err)
		}
	}
	if other, err := Members(0, 0, c.id+"x"); err != nil || len(other) != 0 {
		t.Errorf("another id has %v %v", other, err)
	}
	if err := c.kill(0); err != nil {
		t.Fatal(err)
	}
	c.expectGone(want...)
}

func TestKillWithTerm(t *testing.T) {
	c := sh(t, `trap 'echo bye; exit 3' TERM; echo $$; while :; do read; done`)
	c.pid()
	if err := c.kill(time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := c.line(); got != "bye" {
		t.Errorf("got %q", got)
	}
	c.wait()
	if code := c.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit %d", code)
	}
	c.expectGone()
}

func TestKillProcessesThatIgnoreTerm(t *testing.T) {
	c := sh(t, `trap '' TERM HUP; sleep 1000 & echo $!; wait; read`)
	sleeper := c.pid()
	const grace = 150 * time.Millisecond
	start := time.Now()
	if err := c.kill(grace); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < grace {
		t.Errorf("KILL came after %v", took)
	}
	c.wait()
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v", ws.Signal())
	}
	c.expectGone(sleeper)
}

// An interactive shell ignores TERM, and ends when its terminal closes.
func TestKillHangsUpOnProcessesThatIgnoreTerm(t *testing.T) {
	c := sh(t, `trap '' TERM; sleep 1000 & echo $!; wait; read`)
	sleeper := c.pid()
	if err := c.kill(time.Minute); err != nil {
		t.Fatal(err)
	}
	c.wait()
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGHUP {
		t.Errorf("ended by %v", ws.Signal())
	}
	c.expectGone(sleeper)
}

func TestKillStoppedProcesses(t *testing.T) {
	c := sh(t, `trap 'echo bye; exit' TERM; echo $$; kill -STOP $$; while :; do read; done`)
	await(t, c.pid(), "stopped", func(p Proc, _ error) bool { return p.Stopped() })
	if err := c.kill(time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := c.line(); got != "bye" {
		t.Errorf("it got no chance to act: %q", got)
	}
	c.expectGone()
}

func TestKillProcessesThatLeftTheSession(t *testing.T) {
	c := sh(t, family)
	all := []int{c.Process.Pid, c.pid(), c.pid(), c.pid()}
	if err := c.kill(100 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	c.expectGone(all...)
}

// TestKillOrphans: the parent obeys TERM; its child, which shares
// neither marker nor session with it, does not.
func TestKillOrphans(t *testing.T) {
	c := sh(t, `env -u GC_SESSION_ID setsid bash -c 'trap "" TERM; sleep 1000 & echo $$ $!; wait; wait' & trap exit TERM; wait`)
	var pids [2]int
	if _, err := fmt.Sscan(c.line(), &pids[0], &pids[1]); err != nil {
		t.Fatal(err)
	}
	if err := c.kill(100 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	c.expectGone(pids[:]...)
}

// TestKillProcessesOrphanedByAHangUp: HUP ends the parent before the tree is signalled
// further; the child, which only its parent identifies, ignores TERM and HUP.
func TestKillProcessesOrphanedByAHangUp(t *testing.T) {
	c := sh(t, `env -u GC_SESSION_ID setsid bash -c '(trap "" HUP TERM; exec sleep 1000) & trap "" TERM; echo $$ $!; wait; wait' & trap exit TERM; wait`)
	var pids [2]int
	if _, err := fmt.Sscan(c.line(), &pids[0], &pids[1]); err != nil {
		t.Fatal(err)
	}
	await(t, pids[1], "deaf", func(p Proc, err error) bool { return err == nil && ignoresTerm(p) })
	scans := 0
	members := func() ([]Proc, error) {
		if scans++; scans == 2 {
			await(t, pids[0], "gone", func(p Proc, err error) bool { return err != nil || p.Zombie() })
		}
		return c.members()
	}
	if err := Kill(t.Context(), members, time.Second); err != nil {
		t.Fatal(err)
	}
	c.expectGone(pids[:]...)
}

// TestKillProcessesStartedMeanwhile: on TERM the parent starts a successor in its own
// session and ends.
func TestKillProcessesStartedMeanwhile(t *testing.T) {
	c := sh(t, `trap 'setsid sleep 1000 >&- & exit' TERM; echo $$; while :; do read; done`)
	c.pid()
	if err := c.kill(time.Minute); err != nil {
		t.Fatal(err)
	}
	c.expectGone()
}

func TestKillNoProcess(t *testing.T) {
	c := sh(t, `echo $$`)
	pid := c.pid()
	await(t, pid, "a zombie", func(p Proc, _ error) bool { return p.Zombie() })
	if err := c.kill(time.Minute); err != nil {
		t.Errorf("a zombie: %v", err)
	}
	for name, list := range map[string][]Proc{"empty": nil, "ourselves": {{PID: os.Getpid(), Start: 1}}, "init": {{PID: 1}}} {
		if err := Kill(t.Context(), func() ([]Proc, error) { return list, nil }, time.Minute); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	boom := errors.New("boom")
	if err := Kill(t.Context(), func() ([]Proc, error) { return nil, boom }, 0); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

// TestKillSparesAReusedPid: members names an incarnation that has ended.
func TestKillSparesAReusedPid(t *testing.T) {
	c := sh(t, `echo $$; read; echo alive`)
	p, err := Get(c.pid())
	if err != nil {
		t.Fatal(err)
	}
	old := p
	old.Start--
	for _, grace := range []time.Duration{0, time.Minute} {
		if err := Kill(t.Context(), func() ([]Proc, error) { return []Proc{old}, nil }, grace); err != nil {
			t.Error(err)
		}
	}
	if !p.Alive() {
		t.Error("the new owner of the pid was killed")
	}
	h := &handle{proc: old, fd: -1}
	if err := h.signal(syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("without a pidfd: %v", err)
	}
	if !p.Alive() {
		t.Error("the new owner of the pid was killed")
	}
}

func TestKillHonoursContext(t *testing.T) {
	c := sh(t, `trap '' TERM HUP; echo $$; read`)
	pid := c.pid()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := Kill(ctx, c.members, time.Hour)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), strconv.Itoa(pid)+" (bash)") {
		t.Errorf("got %v", err)
	}
	if p, err := Get(pid); err != nil || p.Zombie() {
		t.Error("it was killed before the grace period ended")
	}
}

// TestWaitWithoutDescriptor: without a pidfd, waits are short ticks.
func TestWaitWithoutDescriptor(t *testing.T) {
	start := time.Now()
	if err := waitAny(t.Context(), []*handle{{fd: -1}}, start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	c := sh(t, `echo $$; read`)
	p, err := Get(c.pid())
	if err != nil {
		t.Fatal(err)
	}
	h := &handle{proc: p, fd: -1}
	if err := h.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.wait()
	c.expectGone()
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		if _, err := Table(); err != nil {
			b.Fatal(err)
		}
	}
}

package pod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

const (
	patience = time.Minute
	optionsV = "GC_TEST_POD" // the options of a test's process
)

// TestMain lets the test binary also be the first process of a pod, and the keeper and
// server that it starts.
func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	if text := os.Getenv(optionsV); text != "" {
		testenv.Exit(runPod(text))
	}
	os.Exit(m.Run())
}

// Statuses of runPod beside those of sessions.
const (
	statusNoSession = 101
	statusLost      = 102
	statusShared    = 103
	statusOther     = 104
)

// settings are the options that a test chooses.
type settings struct {
	Dir                                   string
	Wait, Grace, Every, Relaunch, Deliver time.Duration
	Alone                                 time.Duration
}

func (s settings) paths() api.Paths {
	return api.Paths{Dir: filepath.Join(s.Dir, "s.d"), Socket: filepath.Join(s.Dir, "s")}
}

// connected is a file that exists while somebody is connected.
func (s settings) connected() string { return filepath.Join(s.Dir, "connected") }

func (s settings) report() string { return filepath.Join(s.Dir, "report") }

func runPod(text string) int {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusOther
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	exit, err := Run(ctx, Options{
		Paths: s.paths(), Version: "test", Session: "agent", Report: s.report(), Screen: os.Stdout,
		Warn: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Wait: s.Wait, Grace: s.Grace, Every: s.Every, Relaunch: s.Relaunch, Deliver: s.Deliver, Alone: s.Alone,
		Connected: func() bool { _, err := os.Stat(s.connected()); return err == nil },
	})
	switch {
	case errors.Is(err, ErrNoSession):
		return statusNoSession
	case errors.Is(err, ErrLost):
		return statusLost
	case errors.Is(err, ErrShared):
		return statusShared
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return statusOther
	}
	return exit.Code
}

// container is a process that runs Run, with its multiplexer.
type container struct {
	t *testing.T
	settings
	cmd    *exec.Cmd
	stdout bytes.Buffer
	mux    *client.Client
}

// begin starts it, by the program in through if one is given.
func begin(t *testing.T, s settings, through ...string) *container {
	t.Helper()
	if s.Dir == "" {
		s.Dir = shortDir(t)
	}
	if s.Wait == 0 {
		s.Wait = patience
	}
	c := &container{t: t, settings: s}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	argv := append(through, os.Args[0])
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Env = append(os.Environ(), optionsV+"="+string(text))
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, os.Stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it has ended unless the test failed
		_ = c.cmd.Wait()
		if c, err := client.Dial(context.Background(), s.paths()); err == nil {
			_ = c.Shutdown(context.Background(), true)
		}
	})
	if s.Wait == patience {
		c.connect()
	}
	return c
}

// shortDir makes a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pod")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// connect waits for the multiplexer.
func (c *container) connect() {
	c.t.Helper()
	c.until("a multiplexer", func() (err error) {
		c.mux, err = client.Dial(c.t.Context(), c.paths())
		return err
	})
	c.t.Cleanup(func() { c.mux.Close() })
}

// until repeats f until it succeeds.
func (c *container) until(what string, f func() error) {
	c.t.Helper()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for limit := time.After(patience); ; {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ticks.C:
		case <-limit:
			c.t.Fatalf("%s: %v", what, err)
		}
	}
}

// run makes the session.
func (c *container) run(script string) api.SessionInfo {
	c.t.Helper()
	info, err := c.mux.Create(c.t.Context(), api.CreateRequest{
		ID: filepath.Base(c.Dir), Name: "agent", Argv: []string{"/bin/sh", "-c", script}, WorkDir: c.Dir,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return info
}

// shows waits until the session shows a text.
func (c *container) shows(text string) {
	c.t.Helper()
	r, err := c.mux.Wait(c.t.Context(), "agent", api.WaitRequest{Conditions: []api.Condition{{Text: text}}, Timeout: patience})
	if err != nil || r.Met != 0 {
		c.t.Fatalf("%q is not shown: %+v, %v", text, r, err)
	}
}

func (c *container) signal(sig os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// ends waits for the end of the process, and of everything that it started.
func (c *container) ends(status int) *Message {
	c.t.Helper()
	_ = c.cmd.Wait() // the status says it
	if got := c.cmd.ProcessState.ExitCode(); got != status {
		c.t.Errorf("exit status %d, want %d", got, status)
	}
	c.until("no process is left", func() error {
		all, err := proctree.Table()
		for _, p := range all {
			args, _ := proctree.Cmdline(p.PID)
			if strings.Contains(strings.Join(args, "\n"), c.Dir) {
				return fmt.Errorf("process %d: %q", p.PID, args)
			}
		}
		return err
	})
	return c.message()
}

// watched waits until the first process knows the session: before, it does not tell a
// multiplexer that was just killed from one of another container.
func (c *container) watched() {
	c.t.Helper()
	c.until("the session is watched", func() error {
		data, err := os.ReadFile(c.report())
		if err != nil {
			return err
		}
		if m, err := Parse(string(data)); err != nil || m.ID == "" {
			return fmt.Errorf("it is not reported: %s, %v", data, err)
		}
		return nil
	})
}

func (c *container) message() *Message {
	c.t.Helper()
	data, err := os.ReadFile(c.report())
	if err != nil {
		c.t.Fatal(err)
	}
	m, err := Parse(string(data))
	if err != nil {
		c.t.Fatalf("%s: %v", data, err)
	}
	return m
}

// TestLeftAlone: whoever was to make the session is gone, so the container ends.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	s := settings{Dir: shortDir(t), Alone: 300 * time.Millisecond}
	if err := os.WriteFile(s.connected(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := begin(t, s)
	<-time.After(4 * s.Alone)
	if _, err := c.mux.Status(t.Context()); err != nil {
		t.Fatalf("it ended although somebody was connected: %v", err)
	}
	if err := os.Remove(s.connected()); err != nil {
		t.Fatal(err)
	}
	if m := c.ends(statusNoSession); m.Exit != nil || !strings.Contains(m.Error, "nobody was connected for 300ms") {
		t.Errorf("%+v", m)
	}
}

// TestNotAlone: a session is not ended when whoever made it is gone.
func TestNotAlone(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{Alone: time.Second})
	c.run("echo on; sleep 2; exit 7")
	c.ends(7)
}

func TestStatuses(t *testing.T) {
	for name, tt := range map[string]struct {
		script, text string
		status       int
		reason       string
	}{
		"success":    {"echo well", "well\n", 0, outcome.Exited},
		"failure":    {"echo 1; echo; echo 2; exit 7", "1\n\n2\n", 7, outcome.Exited},
		"killed":     {"echo on; kill -KILL $$", "on\n", 137, outcome.Killed},
		"no program": {"exec /none", "", 127, outcome.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, settings{})
			info := c.run(tt.script)
			m := c.ends(tt.status)
			if m.Exit == nil || m.Exit.Code != tt.status || m.Exit.Reason != tt.reason || m.ID != info.ID || m.Session != "agent" || m.Error != "" {
				t.Errorf("%+v, exit %+v", m, m.Exit)
			}
			if tt.text != "" && (m.Text() != tt.text || c.stdout.String() != tt.text) {
				t.Errorf("lines %q, standard output %q, want %q", m.Text(), c.stdout.String(), tt.text)
			}
		})
	}
}

// TestRelaunch: a session that is killed and made again keeps the pod.
func TestRelaunch(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{})
	c.run("echo first; exec sleep 1000")
	c.shows("first")
	if err := c.mux.Kill(t.Context(), "agent", 0); err != nil {
		t.Fatal(err)
	}
	c.run("echo second; read x; exit 5")
	c.shows("second")
	if err := c.mux.Keys(t.Context(), "agent", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if m := c.ends(5); !strings.HasPrefix(m.Text(), "second\n") {
		t.Errorf("%q", m.Text())
	}
}

// TestKilledForGood: without another session the pod ends, with what was seen last.
func TestKilledForGood(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{Relaunch: 100 * time.Millisecond, Every: time.Millisecond})
	c.run("echo here; exec sleep 1000")
	c.until("the screen is in the message", func() error {
		data, err := os.ReadFile(c.report())
		if err == nil && !strings.Contains(string(data), "here") {
			err = fmt.Errorf("%s", data)
		}
		return err
	})
	if m := c.message(); m.Exit != nil || m.Text() != "here\n" {
		t.Errorf("while it runs: %+v", m)
	}
	if err := c.mux.Kill(t.Context(), "agent", time.Second); err != nil && !errors.Is(err, api.ErrUnreachable) { // the pod may end first
		t.Fatal(err)
	}
	if m := c.ends(143); m.Exit.Reason != outcome.Stopped || m.Text() != "here\n" {
		t.Errorf("%+v, exit %+v", m, m.Exit)
	}
}

func TestNoSession(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{Wait: 100 * time.Millisecond})
	if m := c.ends(statusNoSession); m.Exit != nil || !strings.Contains(m.Error, "no session was made: agent, within 100ms") {
		t.Errorf("%+v", m)
	}
}

// TestSharedDirectory: the first process of a container does not take the multiplexer of
// another one for its own.
func TestSharedDirectory(t *testing.T) {
	t.Parallel()
	unshare := testenv.Need(t, "unshare")
	if os.Geteuid() != 0 {
		testenv.Missing(t, "only root makes containers")
	}
	s := settings{Dir: shortDir(t), Wait: 10 * time.Second}
	other, err := client.Ensure(t.Context(), s.paths(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	c := begin(t, s, unshare, "--pid", "--fork", "--mount-proc", "--kill-child")
	_ = c.cmd.Wait() // the status says it
	if got := c.cmd.ProcessState.ExitCode(); got != statusShared {
		t.Errorf("exit status %d", got)
	}
	if m := c.message(); m.Error != ErrShared.Error()+": "+s.paths().Dir {
		t.Errorf("%+v", m)
	}
	if _, err := other.Status(t.Context()); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

// TestMadeByAnExec: a multiplexer that an exec in the container started is the container's.
func TestMadeByAnExec(t *testing.T) {
	t.Parallel()
	s := settings{Dir: shortDir(t)}
	first, err := client.Ensure(t.Context(), s.paths(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	c := begin(t, s)
	c.run("exit 5")
	c.ends(5)
}

func TestStop(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		grace  time.Duration
		status int
		text   string
	}{
		"well-behaved": {"trap 'echo bye; exit 3' TERM; echo on; while :; do sleep 0.01; done", patience, 3, "bye\n"},
		"deaf":         {"trap '' TERM HUP; echo on; while :; do sleep 0.01; done", 100 * time.Millisecond, 137, "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, settings{Grace: tt.grace})
			c.run(tt.script)
			c.shows("on")
			c.signal(unix.SIGTERM)
			if m := c.ends(tt.status); m.Exit.Reason != outcome.Stopped || !strings.HasPrefix(m.Text(), "on\n") || !strings.HasSuffix(m.Text(), tt.text) {
				t.Errorf("%q, exit %+v", m.Text(), m.Exit)
			}
		})
	}
}

// TestServerKilled: the session goes on, as on any machine.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{})
	c.run("echo on; read x; exit 5")
	c.shows("on")
	c.kill(func(s api.ServerStatus) int { return s.Server.PID })
	c.shows("on")
	if err := c.mux.Keys(t.Context(), "agent", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	c.ends(5)
}

// TestKeeperKilled: the session goes on, too; its parent is the pod's first process then,
// which knows its status.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{})
	c.run("echo on; read x; exit 5")
	c.shows("on")
	old := c.kill(func(s api.ServerStatus) int { return s.Keeper.PID })
	c.until("another keeper", func() error {
		s, err := c.mux.Status(t.Context())
		if err == nil && (s.Keeper.PID == 0 || s.Keeper.PID == old) {
			err = errors.New("none yet")
		}
		return err
	})
	if err := c.mux.Keys(t.Context(), "agent", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if m := c.ends(5); m.Exit.Reason != outcome.Exited {
		t.Errorf("%+v", m.Exit)
	}
}

// kill kills one of the multiplexer's processes, and waits for its end.
func (c *container) kill(which func(api.ServerStatus) int) int {
	c.t.Helper()
	c.watched()
	s, err := c.mux.Status(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	pid := which(s)
	p, err := proctree.Get(pid)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	if err := proctree.AwaitEnd(c.t.Context(), []proctree.Proc{p}); err != nil {
		c.t.Fatal(err)
	}
	return pid
}

// TestMultiplexerKilled: the pod ends, says why, and leaves nothing.
func TestMultiplexerKilled(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{})
	info := c.run("trap '' HUP; echo on; exec sleep 1000")
	c.shows("on")
	c.watched()
	s, err := c.mux.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Stopped, neither can start the other again.
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, pid := range []int{s.Keeper.PID, s.Server.PID} {
			if err := unix.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
		}
	}
	if m := c.ends(statusLost); m.Exit != nil || m.Error != ErrLost.Error() {
		t.Errorf("%+v", m)
	}
	if p, err := proctree.Get(info.PID); err == nil && p.Alive() {
		t.Errorf("the program still runs: %+v", p)
	}
}

// TestOrphans: no process stays a zombie.
func TestOrphans(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{Grace: patience})
	c.run("echo on; read x; exit 5")
	c.shows("on")
	// A process that an exec in the container leaves is given to the first one; here it
	// comes from the session whose keeper dies.
	c.kill(func(s api.ServerStatus) int { return s.Keeper.PID })
	c.until("no zombies", func() error {
		all, err := proctree.Table()
		for _, p := range all {
			if p.PPID == c.cmd.Process.Pid && p.Zombie() {
				return fmt.Errorf("%+v", p)
			}
		}
		return err
	})
	c.signal(unix.SIGTERM)
	c.ends(int(128 + unix.SIGTERM))
}

// TestDelivery: what the session said to its city is taken before the pod ends, also by a
// city that comes late.
func TestDelivery(t *testing.T) {
	t.Parallel()
	c := begin(t, settings{})
	if _, err := c.mux.Post(t.Context(), api.OutboxRequest{ID: "1", City: "/city", Body: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	c.run("echo on; read x; exit 5")
	c.shows("on")
	if err := c.mux.Keys(t.Context(), "agent", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if r, err := c.mux.Wait(t.Context(), "agent", api.WaitRequest{Conditions: []api.Condition{{Exit: true}}}); err != nil || r.Exit == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	list, err := c.mux.Outbox(t.Context(), "/city", 0, 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := c.mux.TakeFromOutbox(t.Context(), "/city", "1"); err != nil {
		t.Fatal(err)
	}
	if m := c.ends(5); m.Undelivered != 0 {
		t.Errorf("%+v", m)
	}
}

// TestNoDelivery: a city that never comes does not keep the pod for ever, nor a stop.
func TestNoDelivery(t *testing.T) {
	for name, s := range map[string]settings{"limit": {Deliver: 50 * time.Millisecond}, "stopped": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, s)
			if _, err := c.mux.Post(t.Context(), api.OutboxRequest{ID: "1", City: "/city", Body: json.RawMessage(`{}`)}); err != nil {
				t.Fatal(err)
			}
			c.run("exit 5")
			if name == "stopped" {
				c.until("its end", func() error {
					info, err := c.mux.Get(t.Context(), "agent")
					if err == nil && info.Exit == nil {
						err = errors.New("it runs")
					}
					return err
				})
				c.signal(unix.SIGTERM)
			}
			if m := c.ends(5); m.Undelivered != 1 {
				t.Errorf("%+v", m)
			}
		})
	}
}

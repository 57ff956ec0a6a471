package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/acp/acpsh"
	"gascity.dev/gc/internal/acp/host"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime/subprocess"
)

var update = flag.Bool("update", false, "write docs/cli anew, and what scripts compare with cmp")

// The test binary is gc: testscript puts it on PATH under that name and another, and
// the server, keeper and controller that it starts are the test binary, too.
func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	if subprocess.IsParent(os.Args) {
		testenv.Exit(subprocess.RunParent())
	}
	if host.Is(os.Args) {
		testenv.Exit(host.Run(os.Args))
	}
	if strings.HasSuffix(os.Args[0], ".test") { // and is not gc in a script
		testenv.SideBySide(4) // they wait for programs most of their time
	}
	testscript.Main(m, map[string]func(){"gc": main, "gctl": main, "acpsh": func() { os.Exit(acpsh.Main(os.Args)) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		Setup:         setupScript,
		UpdateScripts: *update,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "ci":
				return os.Getenv("CI") == "true", nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus,
			"term":   cmdTerm,
			"signal": cmdSignal,
			"gone":   cmdGone,
			"until":  cmdUntil,
			"sshd":   cmdSSHD,
		},
	})
}

// setupScript gives every script its own home and mux server, and fails the script
// if processes are left afterwards.
func setupScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("SHELL", "/bin/sh")
	env.Setenv("PS1", "$ ")
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("EVIL", "\x1b[31mred\a\u009b0m")
	env.Setenv("GC_TRUST", "1") // for trust.txtar to unset
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
	env.Setenv("GC_MUX_SOCKET", filepath.Join(env.WorkDir, ".mux", "sock"))
	// The race detector otherwise sleeps a second at every exit.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	if err := os.MkdirAll(filepath.Join(env.WorkDir, ".mux"), 0o700); err != nil {
		return err
	}
	t := env.T().(testing.TB)
	env.Values[farHosts{}], env.Values[scriptTB{}] = &[]*sshd.Host{}, t
	env.Defer(func() { cleanUp(t, env) })
	return nil
}

// cleanUp stops the controllers and mux servers of a script, however it ended, and
// reports processes that are left.
func cleanUp(t testing.TB, env *testscript.Env) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var servers []api.Paths
	_ = filepath.WalkDir(env.WorkDir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.Name() == "city.toml":
			if c, err := cityapi.Dial(filepath.Dir(path)); err == nil {
				if err := c.Stop(ctx, cityapi.StopRequest{}); err != nil {
					t.Errorf("stop the controller of %s: %v", path, err)
				}
			}
		case d.Name() == api.ServerLock:
			dir := filepath.Dir(path)
			if socket, ok := strings.CutSuffix(dir, ".d"); ok { // GC_MUX_SOCKET
				servers = append(servers, api.Paths{Dir: dir, Socket: socket})
			} else {
				servers = append(servers, api.Paths{Dir: dir, Socket: filepath.Join(dir, "mux.sock")})
			}
		}
		return nil
	})
	endTmux(ctx, t, filepath.Join(env.Getenv("XDG_STATE_HOME"), "gc", "tmux"))
	for _, paths := range servers {
		if c, err := client.Dial(ctx, paths); err == nil {
			if err := c.Shutdown(ctx, true); err != nil {
				t.Errorf("stop the mux server of %s: %v", paths.Dir, err)
			}
			_ = c.Close()
		}
	}
	var left []proctree.Proc
	eventually(func() bool { // a process has just given back its lock
		left = leftOvers(t, env.WorkDir)
		return len(left) == 0
	})
	for _, p := range left {
		t.Errorf("left behind: process %d %s", p.PID, p.Comm)
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}

// endTmux ends the servers of a script that still have sessions.
func endTmux(ctx context.Context, t testing.TB, dir string) {
	sockets, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Error(err)
	}
	for _, s := range sockets {
		if info, err := os.Stat(s); err == nil && info.Mode()&fs.ModeSocket != 0 {
			_ = exec.CommandContext(ctx, "tmux", "-S", s, "kill-server").Run() // it may have ended
		}
	}
}

// leftOvers are the live processes with the HOME of a script's directory in their
// environment, or a path below it in their arguments (the daemons have an empty
// environment).
func leftOvers(t testing.TB, dir string) []proctree.Proc {
	procs, err := proctree.Table()
	if err != nil {
		t.Errorf("process table: %v", err)
		return nil
	}
	var left []proctree.Proc
	for _, p := range procs {
		if p.PID == os.Getpid() || p.Zombie() {
			continue
		}
		env, _ := proctree.Environ(p.PID)
		args, _ := proctree.Cmdline(p.PID)
		if strings.HasPrefix(env["HOME"], dir+"/") || strings.Contains(strings.Join(args, "\n"), dir+"/") {
			left = append(left, p)
		}
	}
	return left
}

// cmdStatus is `status N COMMAND…`: the command must end with exit status N.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cmdSignal is `signal NAME FILE`: signals the process whose ID is in the file.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME file")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(sendSignal(pid, args[0]))
}

// sendSignal sends the signal with a name without SIG.
func sendSignal(pid int, name string) error {
	number := unix.SignalNum("SIG" + name)
	if number == 0 {
		return fmt.Errorf("no signal %q", name)
	}
	return unix.Kill(pid, number)
}

// cmdGone is `gone FILE`: waits until the process whose ID is in the file has
// ended.
func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone file")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	if p, err := proctree.Get(pid); err == nil && p.Alive() {
		ts.Fatalf("process %d is still there: %s", pid, p.Comm)
	}
}

// cmdUntil is `until PATTERN COMMAND…`: repeats the command until its output
// matches, where there is no event to wait for.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until pattern command...")
	}
	re := compile(ts, args[0])
	if !eventually(func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && re.MatchString(ts.ReadFile("stdout"))
	}) {
		ts.Fatalf("never matched %s", args[0])
	}
}

// eventually waits until ok returns true, at most for patience.
func eventually(ok func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

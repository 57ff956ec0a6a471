package runtimetest

import (
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

var lifeCases = []testCase{
	{name: "a started session runs", test: func(t *T) {
		name := t.idle()
		t.running(name, true)
	}},
	{name: "a name never started does not run", test: func(t *T) { t.running(t.name(), false) }},
	{name: "start of a live name is ErrSessionExists and harms nothing", test: func(t *T) {
		name := t.idle()
		t.must(t.P.SetMeta(t.Ctx, name, "k", "v"))
		if err := t.P.Start(t.Ctx, name, runtime.Config{WorkDir: t.TempDir(), Command: "exec cat"}); !errors.Is(err, runtime.ErrSessionExists) {
			t.Fatalf("second start: %v", err)
		}
		t.running(name, true)
		if v, err := t.P.GetMeta(t.Ctx, name, "k"); v != "v" || err != nil {
			t.Fatalf("metadata %q, %v", v, err)
		}
	}},
	{name: "of concurrent starts exactly one wins", test: func(t *T) {
		name, dir := t.name(), t.TempDir()
		var won, lost atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				err := t.P.Start(t.Ctx, name, runtime.Config{WorkDir: dir, Command: "exec cat", PreStart: []string{"true"}})
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, runtime.ErrSessionExists):
					lost.Add(1)
				default:
					t.Errorf("start: %v", err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != 7 {
			t.Fatalf("%d won, %d lost", won.Load(), lost.Load())
		}
		t.running(name, true)
	}},
	{name: "stop ends a session and is idempotent", test: func(t *T) {
		name := t.idle()
		t.must(t.P.Stop(t.Ctx, name))
		t.running(name, false)
		t.must(t.P.Stop(t.Ctx, name))
		t.must(t.P.Stop(t.Ctx, "never-was"))
	}},
	{name: "concurrent stops all succeed", test: func(t *T) {
		name := t.idle()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := t.P.Stop(t.Ctx, name); err != nil {
					t.Errorf("stop: %v", err)
				}
			})
		}
		wg.Wait()
		t.running(name, false)
	}},
	{name: "a stopped name starts again", test: func(t *T) {
		name := t.idle()
		t.must(t.P.Stop(t.Ctx, name))
		t.startAs(name, runtime.Config{Command: "exec cat"})
		t.running(name, true)
	}},
	{name: "running sessions are listed by prefix and sorted", test: func(t *T) {
		base := t.name()
		for _, end := range []string{"-b", "-a", "-c"} {
			t.stopLater(base + end)
			t.startAs(base+end, runtime.Config{Command: "exec cat"})
		}
		got, err := t.P.ListRunning(t.Ctx, base+"-")
		if want := []string{base + "-a", base + "-b", base + "-c"}; err != nil || !slices.Equal(got, want) {
			t.Fatalf("listed %q, %v", got, err)
		}
		t.must(t.P.Stop(t.Ctx, base+"-b"))
		got, err = t.P.ListRunning(t.Ctx, base+"-")
		if want := []string{base + "-a", base + "-c"}; err != nil || !slices.Equal(got, want) {
			t.Fatalf("after a stop: %q, %v", got, err)
		}
	}},
	{name: "an unused prefix lists nothing", test: func(t *T) {
		if got, err := t.P.ListRunning(t.Ctx, "nobody-has-this-"); len(got) > 0 || err != nil {
			t.Fatalf("listed %q, %v", got, err)
		}
	}},
	{name: "the command runs in the work dir", needs: []need{programs}, test: func(t *T) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		t.must(err)
		t.start(runtime.Config{WorkDir: dir, Command: "pwd -P > where; exec cat"})
		if got := t.file(filepath.Join(dir, "where")); got != dir {
			t.Fatalf("ran in %q, want %q", got, dir)
		}
	}},
	{name: "the environment is the configured one", needs: []need{programs}, test: func(t *T) {
		dir := t.TempDir()
		t.start(runtime.Config{
			WorkDir: dir, Command: "env > vars; echo end >> vars; exec cat",
			Env:     map[string]string{"PLAIN": "one", "ODD": "a 'b' \"c\" $d", "TZ": ""},
			BaseEnv: map[string]string{"LOWER": "base", "PLAIN": "zero"},
		})
		t.eventually("the list of variables", func() error {
			data, err := os.ReadFile(filepath.Join(dir, "vars"))
			if err == nil && !strings.HasSuffix(string(data), "end\n") {
				err = errors.New("not complete")
			}
			return err
		})
		data, err := os.ReadFile(filepath.Join(dir, "vars"))
		t.must(err)
		lines := strings.Split(string(data), "\n")
		for _, want := range []string{"PLAIN=one", "ODD=a 'b' \"c\" $d", "LOWER=base", "HOME=" + os.Getenv("HOME")} {
			if !slices.Contains(lines, want) {
				t.Errorf("no %s", want)
			}
		}
		for _, l := range lines {
			if strings.HasPrefix(l, "TZ=") {
				t.Errorf("unexpected %s", l)
			}
		}
		for _, kv := range os.Environ() {
			if k, _, _ := strings.Cut(kv, "="); !mayInherit(k) && slices.Contains(lines, kv) {
				t.Errorf("%s of this process leaked", k)
			}
		}
	}},
	{name: "an empty command is the user's shell", needs: []need{programs, keys}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Env: map[string]string{"SHELL": "/bin/sh", "ENV": ""}})
		t.nudge(name, "echo $((6*7)) > answer")
		if got := t.file(filepath.Join(dir, "answer")); got != "42" {
			t.Fatalf("answer %q", got)
		}
	}},
	{name: "a missing work dir is an error and leaves nothing", needs: []need{programs}, test: func(t *T) {
		name := t.name()
		err := t.P.Start(t.Ctx, name, runtime.Config{WorkDir: filepath.Join(t.TempDir(), "gone"), Command: "exec cat"})
		if err == nil {
			t.Fatal("no error")
		}
		t.running(name, false)
	}},
	{name: "a work dir that vanishes during the start is an error and leaves nothing", needs: []need{programs}, test: func(t *T) {
		name, dir := t.name(), filepath.Join(t.TempDir(), "dir")
		t.must(os.Mkdir(dir, 0o700))
		err := t.P.Start(t.Ctx, name, runtime.Config{
			WorkDir: dir, Command: "exec cat", PreStart: []string{"rm -r " + shell.Quote(dir)},
		})
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Fatalf("error: %v", err)
		}
		t.running(name, false)
	}},
	{name: "the terminal has the configured size", needs: []need{programs, keys}, test: func(t *T) {
		dir := t.TempDir()
		t.start(runtime.Config{WorkDir: dir, Cols: 91, Rows: 17, Command: "stty size > size; exec cat"})
		if got := t.file(filepath.Join(dir, "size")); got != "17 91" {
			t.Fatalf("size %q", got)
		}
		t.start(runtime.Config{WorkDir: dir, Command: "stty size > default; exec cat"})
		if got := t.file(filepath.Join(dir, "default")); got != "40 120" {
			t.Fatalf("default size %q", got)
		}
	}},
}

// mayInherit reports whether a variable may have the same value in a session as
// here: the inherited ones, and those that shells set themselves.
func mayInherit(name string) bool {
	own := []string{"PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLORTERM"}
	return slices.Contains(own, name) || len(runtime.Environment([]string{name + "=x"})) > 0
}

var nameCases = []testCase{
	{name: "names that break the rules are refused", test: func(t *T) {
		for _, name := range []string{"", "-a", ".a", "a b", "a/b", "a\n", "a:b", "é", strings.Repeat("x", 201)} {
			if err := t.P.Start(t.Ctx, name, runtime.Config{Command: "exec cat"}); !errors.Is(err, runtime.ErrBadName) {
				t.Errorf("start of %q: %v", name, err)
			}
		}
	}},
	{name: "names of every allowed byte and length are kept apart", test: func(t *T) {
		base := t.name()
		names := []string{base + ".a", base + "_a", base + "-a", base + "-A", base + "--a", base + strings.Repeat("x", 200-len(base))}
		names = append(names, names[5][:199]+"y")
		for _, name := range names {
			t.stopLater(name)
			t.startAs(name, runtime.Config{Command: "exec cat"})
			t.must(t.P.SetMeta(t.Ctx, name, "me", name))
		}
		for _, name := range names {
			if v, err := t.P.GetMeta(t.Ctx, name, "me"); v != name || err != nil {
				t.Errorf("%s holds %q, %v", name, v, err)
			}
		}
		got, err := t.P.ListRunning(t.Ctx, base)
		slices.Sort(names)
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("listed %q, %v", got, err)
		}
	}},
	{name: "a name is not matched by its beginning", test: func(t *T) {
		name := t.idle()
		t.running(name+"x", false)
		t.running(name[:len(name)-1], false)
		t.must(t.P.Stop(t.Ctx, name[:len(name)-1]))
		t.running(name, true)
	}},
}

var endCases = []testCase{
	{name: "an exited session is not running and not listed", needs: []need{programs}, test: func(t *T) {
		name := t.sh("exit 3")
		t.ends(name)
		if got, err := t.P.ListRunning(t.Ctx, name); len(got) > 0 || err != nil {
			t.Fatalf("listed %q, %v", got, err)
		}
		t.must(t.P.Stop(t.Ctx, name))
	}},
	{name: "a start replaces an exited session", needs: []need{programs}, test: func(t *T) {
		name := t.sh("echo first life; exit 0")
		t.ends(name)
		t.startAs(name, runtime.Config{Command: "echo second life; exec cat"})
		t.shows(name, "second life")
		if strings.Contains(t.peek(name), "first life") {
			t.Fatal("the first life is still on the screen")
		}
	}},
	{name: "stop ends grandchildren that left the session", needs: []need{programs, tree}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "setsid sh -c 'echo $$ > pid; exec sleep 1000' & exec cat"})
		pid := t.file(filepath.Join(dir, "pid"))
		t.must(t.P.Stop(t.Ctx, name))
		if !processGone(pid) {
			t.Fatalf("process %s lives", pid)
		}
	}},
	{name: "stop ends a program that ignores TERM and HUP", needs: []need{programs, tree}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "trap '' TERM HUP INT; echo $$ > pid; while :; do sleep 1000; done"})
		pid := t.file(filepath.Join(dir, "pid"))
		t.must(t.P.Stop(t.Ctx, name))
		t.running(name, false)
		if !processGone(pid) {
			t.Fatalf("process %s lives", pid)
		}
	}},
	{name: "stop lets a program clean up", needs: []need{programs}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "trap 'echo clean > done; exit 0' TERM; echo up > up; while :; do read x; done"})
		t.file(filepath.Join(dir, "up"))
		t.must(t.P.Stop(t.Ctx, name))
		if got := t.file(filepath.Join(dir, "done")); got != "clean" {
			t.Fatalf("done holds %q", got)
		}
	}},
	{name: "stop of a polite program does not wait for the grace period", needs: []need{programs}, test: func(t *T) {
		dir := t.TempDir()
		stubborn := t.start(runtime.Config{WorkDir: dir, Command: "trap '' TERM HUP INT; echo up > up; while :; do sleep 1000; done"})
		t.file(filepath.Join(dir, "up"))
		grace := t.stopTime(stubborn)
		quickest := time.Hour // of several: a busy machine may slow down one
		for range 5 {
			if quickest = min(quickest, t.stopTime(t.sh("exec sleep 1000"))); quickest < grace*9/10 {
				return
			}
		}
		t.Fatalf("took %v, and %v when the program ignores it", quickest, grace)
	}},
}

// stopTime stops a session and returns how long that took.
func (t *T) stopTime(name string) time.Duration {
	t.Helper()
	begin := time.Now()
	t.must(t.P.Stop(t.Ctx, name))
	return time.Since(begin)
}

// processGone reports whether no live process has the pid. A zombie counts as gone.
func processGone(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	if syscall.Kill(n, 0) == syscall.ESRCH {
		return true
	}
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return errors.Is(err, os.ErrNotExist) && goruntime.GOOS == "linux"
	}
	_, rest, ok := strings.Cut(string(data), ") ")
	return ok && strings.HasPrefix(rest, "Z")
}

package tmux_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/tmux"
)

func TestMain(m *testing.M) {
	if socket := os.Getenv(connectVar); socket != "" {
		connectAndStay(socket)
	}
	goleak.VerifyTestMain(m)
}

// backend is a tmux server for one test.
type backend struct{ socket string }

// newBackend skips without tmux, but not in CI, which installs it.
func newBackend(t testing.TB) backend {
	t.Helper()
	testenv.Need(t, "tmux")
	b := backend{filepath.Join(t.TempDir(), "tmux.sock")}
	t.Cleanup(func() { tmux.KillServer(t, b.socket) })
	return b
}

func (b backend) provider(t testing.TB) *tmux.Provider {
	t.Helper()
	p, err := tmux.New(tmux.Options{Socket: b.socket, StopGrace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func (b backend) signal(t testing.TB, sig syscall.Signal) (pid int) {
	t.Helper()
	pid, err := strconv.Atoi(tmux.Ask(t, b.socket, "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
	return pid
}

// hang stops the server and waits until it no longer runs.
func (b backend) hang(t *testing.T) (resume func()) {
	pid := b.signal(t, syscall.SIGSTOP)
	for {
		proc, err := proctree.Get(pid)
		if err != nil || t.Context().Err() != nil {
			t.Fatal(err, t.Context().Err())
		}
		if proc.Stopped() {
			return func() {
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestConformance(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		b := newBackend(t)
		return runtimetest.Harness{
			Provider: b.provider(t),
			Reopen:   func(t *testing.T) runtime.Provider { return b.provider(t) },
			Hang:     b.hang,
		}
	})
}

func BenchmarkProvider(b *testing.B) {
	runtimetest.Benchmark(b, func(b *testing.B) runtime.Provider { return newBackend(b).provider(b) })
}

// A provider with a connection starts no tmux client for queries, input and metadata;
// a start takes one.
func TestQueriesSpawnNothing(t *testing.T) {
	b := newBackend(t)
	dir := t.TempDir()
	calls, wrapper := filepath.Join(dir, "calls"), filepath.Join(dir, "tmux")
	script := "#!/bin/sh\necho x >> " + shell.Quote(calls) + "\nexec " + testenv.Need(t, "tmux") + " \"$@\"\n"
	if err := testenv.WriteProgram(wrapper, []byte(script)); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		data, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "x")
	}
	p, err := tmux.New(tmux.Options{Socket: b.socket, Binary: wrapper, StopGrace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	ctx := t.Context()
	begin(t, p, "a", "exec cat")
	for !p.Connected() {
		if _, err := p.IsRunning(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	before := count()
	for range 20 {
		_, err1 := p.IsRunning(ctx, "a")
		_, err2 := p.ListRunning(ctx, "")
		_, err3 := p.ProcessAlive(ctx, "a", []string{"cat"})
		_, err4 := p.Peek(ctx, "a", 0)
		_, err5 := p.GetLastActivity(ctx, "a")
		_, err6 := p.IsAttached(ctx, "a")
		err7 := p.SetMeta(ctx, "a", "k", "v")
		_, err8 := p.GetMeta(ctx, "a", "k")
		err9 := p.SendKeys(ctx, "a", "x", "Enter")
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Nudge(ctx, "a", runtime.TextContent("some text")); err != nil {
		t.Fatal(err)
	}
	if n := count() - before; n != 0 {
		t.Errorf("%d clients were spawned", n)
	}
	begin(t, p, "b", "exec cat")
	if n := count() - before; n != 1 {
		t.Errorf("a start spawned %d clients", n)
	}
}

// Without tmux on the machine, New fails.
func TestMissingTmux(t *testing.T) {
	_, err := tmux.New(tmux.Options{Socket: filepath.Join(t.TempDir(), "s"), Binary: "no-such-tmux"})
	if err == nil || !strings.Contains(err.Error(), "cannot be found") {
		t.Fatal(err)
	}
}

// The status line names the city and the agent; the mouse is off by default.
func TestOptionsOfASession(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	for name, mouse := range map[string]bool{"plain": false, "clicks.x": true} {
		err := p.Start(t.Context(), name, runtime.Config{
			WorkDir: t.TempDir(), Command: "exec cat", MouseOn: mouse,
			Env: map[string]string{"GC_CITY": "oz", "GC_AGENT": "rig/tin man"},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := "0 oz rig/tin man off"
		if mouse {
			want = "1 oz rig/tin man off"
		}
		got := tmux.AskAt(t, b.socket, "="+strings.ReplaceAll(name, ".", "+2e")+":", "#{mouse} #{@gc_city} #{@gc_agent} #{?monitor-activity,on,off}")
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

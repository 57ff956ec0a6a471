package exec_test

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
	"gascity.dev/gc/runtime/exec"
	"gascity.dev/gc/runtime/runtimetest"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // they mostly wait for programs
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// built is the gc that the native script runs.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func gcBinary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "gc-exec-"); built.err != nil {
			return
		}
		cmd := osexec.Command("go", "build", "-o", filepath.Join(built.dir, "gc"), "gascity.dev/gc/cmd/gc")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "gc")
}

// contrib returns the absolute path of a script of this repository.
func contrib(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../contrib/session-scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// backend is one script with its own state. It hangs while the pipe gate exists.
type backend struct {
	env    []string
	gate   string
	script string
}

func newBackend(t testing.TB, script string, env ...string) *backend {
	t.Helper()
	dir := t.TempDir()
	b := &backend{env: append(os.Environ(), env...), gate: filepath.Join(dir, "gate"), script: filepath.Join(dir, filepath.Base(script))}
	text := fmt.Sprintf("#!/bin/sh\n[ ! -p %s ] || read x < %[1]s\nexec %s \"$@\"\n", shell.Quote(b.gate), shell.Quote(script))
	if err := testenv.WriteProgram(b.script, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *backend) provider(t testing.TB) *exec.Provider {
	t.Helper()
	p, err := exec.New(exec.Options{Script: b.script, Environ: b.env, Limits: driver.Limits{Poll: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (b *backend) harness(t *testing.T) runtimetest.Harness {
	return runtimetest.Harness{
		Provider: b.provider(t),
		Reopen:   func(t *testing.T) runtime.Provider { return b.provider(t) },
		Hang: func(t *testing.T) (resume func()) {
			if err := syscall.Mkfifo(b.gate, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(b.gate) }
		},
	}
}

func newNative(t testing.TB) *backend {
	t.Helper()
	gc := gcBinary(t)
	socket := filepath.Join(t.TempDir(), "mux.sock")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		c, err := client.Dial(ctx, api.Paths{Dir: socket + ".d", Socket: socket})
		if err != nil {
			return // it was never started, or has ended
		}
		defer c.Close()
		if err := c.Shutdown(ctx, true); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return newBackend(t, contrib(t, "gc-session-native"), "GC_BIN="+gc, "GC_SESSION_OP_CAPABILITIES=proc.exec,proc.provision", "GC_MUX_SOCKET="+socket, "GC_EXEC_STATE_DIR="+t.TempDir())
}

func TestConformanceNative(t *testing.T) {
	t.Parallel()
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness { return newNative(t).harness(t) })
}

func newScreen(t testing.TB) *backend {
	t.Helper()
	testenv.Need(t, "screen", "jq", "bash", "script", "setsid", "flock")
	state, err := os.MkdirTemp("", "gcx") // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	return newBackend(t, contrib(t, "gc-session-screen"), "GC_SESSION_OP_CAPABILITIES=proc.exec,proc.provision", "GC_EXEC_STATE_DIR="+state, "GC_SCREEN_GRACE=1")
}

func TestConformanceScreen(t *testing.T) {
	t.Parallel()
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness { return newScreen(t).harness(t) })
}

// The native script is one line over gc session-op.
func TestNativeScriptIsOneLine(t *testing.T) {
	data, err := os.ReadFile(contrib(t, "gc-session-native"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	if lines != 1 {
		t.Fatalf("%d lines", lines)
	}
}

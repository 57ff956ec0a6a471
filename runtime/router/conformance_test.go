package router_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/tmux"
)

// TestMain lets the test binary also be the keeper and the server.
func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	testenv.SideBySide(4) // they mostly wait for programs
	goleak.VerifyTestMain(m)
}

// backend is a multiplexer and a tmux for one test.
type backend struct {
	paths  api.Paths
	socket string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	testenv.Need(t, "tmux")
	dir := t.TempDir()
	b := &backend{paths: api.Paths{Dir: filepath.Join(dir, "mux.d"), Socket: filepath.Join(dir, "mux.sock")}, socket: filepath.Join(dir, "tmux.sock")}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if out, err := exec.CommandContext(ctx, "tmux", "-S", b.socket, "kill-server").CombinedOutput(); err != nil &&
			!strings.Contains(string(out), "no server running") && !strings.Contains(string(out), "error connecting") {
			t.Errorf("kill tmux: %s", out)
		}
		c, err := client.Dial(ctx, b.paths)
		if err != nil {
			return // it was never started, or has ended
		}
		defer c.Close()
		if err := c.Shutdown(ctx, true); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return b
}

func (b *backend) open(name string) (runtime.Provider, error) {
	if name == "tmux" {
		return tmux.New(tmux.Options{Socket: b.socket, StopGrace: 500 * time.Millisecond})
	}
	return native.New(native.Options{Paths: b.paths, Version: "test", StopGrace: 500 * time.Millisecond})
}

// servers returns the pids of the running servers.
func (b *backend) servers(t *testing.T) (pids []int) {
	t.Helper()
	if out, err := exec.Command("tmux", "-S", b.socket, "display-message", "-p", "#{pid}").Output(); err == nil {
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if c, err := client.Dial(t.Context(), b.paths); err == nil {
		defer c.Close()
		s, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, s.Server.PID)
	}
	return pids
}

// hang stops every server and waits until none runs.
func (b *backend) hang(t *testing.T) (resume func()) {
	t.Helper()
	pids := b.servers(t)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for {
			p, err := proctree.Get(pid)
			if err != nil || t.Context().Err() != nil {
				t.Fatal(err, t.Context().Err())
			}
			if p.Stopped() {
				break
			}
		}
	}
	return func() {
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}
	}
}

func (b *backend) harness(t *testing.T, make func() (runtime.Provider, error)) runtimetest.Harness {
	another := func(t *testing.T) runtime.Provider {
		p, err := make()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return runtimetest.Harness{Provider: another(t), Reopen: another, Hang: b.hang}
}

// closed closes a router at the end of the test.
func closed(t *testing.T, r *router.Router, err error) (*router.Router, error) {
	if err == nil {
		t.Cleanup(func() { r.Close() })
	}
	return r, err
}

// The suite's names end with a number: odd ones are remote.
func TestHybridConforms(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		b := newBackend(t)
		return b.harness(t, func() (runtime.Provider, error) {
			r, err := router.Hybrid(b.open, "native", "tmux", []string{"*[13579]"})
			return closed(t, r, err)
		})
	})
}

// alternating starts every session with an odd name in tmux.
type alternating struct{ runtime.Provider }

func (a alternating) Unwrap() runtime.Provider { return a.Provider }

func (a alternating) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if name != "" && strings.ContainsAny(name[len(name)-1:], "13579") {
		cfg.Transport = "tmux"
	}
	return a.Provider.Start(ctx, name, cfg)
}

func TestAutoConforms(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		b := newBackend(t)
		return b.harness(t, func() (runtime.Provider, error) {
			r, err := router.Auto(b.open, "native", "tmux")
			if _, err = closed(t, r, err); err != nil {
				return nil, err
			}
			return alternating{r}, nil
		})
	})
}

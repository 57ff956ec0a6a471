package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/acp/acpsh"
	"gascity.dev/gc/internal/acp/host"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/runtimetest"
)

// TestMain lets the test binary also be the keeper, the server, the host and the agent.
func TestMain(m *testing.M) {
	switch {
	case mux.IsDaemon(os.Args):
		testenv.Exit(mux.RunDaemon(os.Args))
	case host.Is(os.Args):
		testenv.Exit(host.Run(os.Args))
	case acpsh.Called():
		testenv.Exit(acpsh.Main(os.Args))
	}
	testenv.SideBySide(4) // they mostly wait for programs
	goleak.VerifyTestMain(m)
}

// backend is a multiplexer for one test.
type backend struct {
	paths api.Paths
	dir   string // of the agents
}

func newBackend(t testing.TB) *backend {
	t.Helper()
	dir, err := os.MkdirTemp("", "acp") // short: a control socket is below it
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	b := &backend{api.Paths{Dir: socket + ".d", Socket: socket}, filepath.Join(dir, "acp")}
	t.Cleanup(func() {
		defer os.RemoveAll(dir)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
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

// provider returns a provider whose agents run the config's command.
func (b *backend) provider(t testing.TB) runtime.Provider {
	t.Helper()
	base, err := native.New(native.Options{
		Paths: b.paths, Version: "test", Sessions: native.WithControl, StopGrace: 500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	p, err := acp.New(acp.Options{Base: base, Dir: b.dir, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return agents{p}
}

// agents is a provider that runs each command with acpsh.
type agents struct{ runtime.Provider }

func (a agents) Unwrap() runtime.Provider { return a.Provider }

func (a agents) Start(ctx context.Context, name string, cfg runtime.Config) error {
	line, err := acpsh.Command(cfg.Command)
	if err != nil {
		return err
	}
	cfg.ACP = &runtime.ACP{Command: line}
	return a.Provider.Start(ctx, name, cfg)
}

// server returns the pid of the server process.
func (b *backend) server(t testing.TB) int {
	t.Helper()
	c, err := client.Dial(t.Context(), b.paths)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Server.PID
}

// hang stops the server; it returns when all of its threads have stopped.
func (b *backend) hang(t *testing.T) (resume func()) {
	pid := b.server(t)
	kill(t, pid, syscall.SIGSTOP)
	for {
		p, err := proctree.Get(pid)
		if err != nil || t.Context().Err() != nil {
			t.Fatal(err, t.Context().Err())
		}
		if p.Stopped() {
			return func() { kill(t, pid, syscall.SIGCONT) }
		}
	}
}

func kill(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
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

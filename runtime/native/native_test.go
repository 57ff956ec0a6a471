package native_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	"gascity.dev/gc/runtime/runtimetest"
)

// TestMain lets the test binary also be the keeper and the server.
func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	testenv.SideBySide(4) // they mostly wait for programs
	goleak.VerifyTestMain(m)
}

// backend is a multiplexer for one test.
type backend struct{ paths api.Paths }

func newBackend(t testing.TB) *backend {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "mux.sock")
	b := &backend{api.Paths{Dir: socket + ".d", Socket: socket}}
	t.Cleanup(func() {
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

func (b *backend) provider(t testing.TB) *native.Provider {
	t.Helper()
	p, err := native.New(native.Options{Paths: b.paths, Version: "test", StopGrace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
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

func (b *backend) harness(t *testing.T) runtimetest.Harness {
	return runtimetest.Harness{
		Provider: b.provider(t),
		Reopen:   func(t *testing.T) runtime.Provider { return b.provider(t) },
		Hang:     b.hang,
	}
}

func TestConformance(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness { return newBackend(t).harness(t) })
}

// TestNotFoundIsReportedOnce: the multiplexer and the contract use the same words.
func TestNotFoundIsReportedOnce(t *testing.T) {
	p := newBackend(t).provider(t)
	if err := p.Start(t.Context(), "there", runtime.Config{Command: "exec sleep 1000"}); err != nil {
		t.Fatal(err)
	}
	_, err := p.Peek(t.Context(), "nobody", 0)
	if want := "peek nobody: session not found: nobody"; !errors.Is(err, runtime.ErrSessionNotFound) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

package tmux_test

import (
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/tmux"
)

func open(t *testing.T, socket string) *tmux.Provider {
	t.Helper()
	p, err := tmux.New(tmux.Options{Socket: socket, StopGrace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestConformance(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		socket := filepath.Join(t.TempDir(), "tmux.sock")
		p := open(t, socket)
		t.Cleanup(func() { tmux.KillServer(t, socket) })
		return runtimetest.Harness{
			Provider: p,
			Reopen:   func(t *testing.T) runtime.Provider { return open(t, socket) },
			Hang: func(t *testing.T) func() {
				pid, err := strconv.Atoi(tmux.Ask(t, socket, "#{pid}"))
				if err != nil {
					t.Fatal(err)
				}
				signal := func(s syscall.Signal) {
					if err := syscall.Kill(pid, s); err != nil {
						t.Fatal(err)
					}
				}
				signal(syscall.SIGSTOP)
				for stopped := false; !stopped; {
					proc, err := proctree.Get(pid)
					if err != nil || t.Context().Err() != nil {
						t.Fatal(err, t.Context().Err())
					}
					stopped = proc.Stopped()
				}
				return func() { signal(syscall.SIGCONT) }
			},
		}
	})
}

package backend

import (
	"context"
	"fmt"
	"net"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// Remote returns the provider of another machine's sessions.
func (s *Set) Remote(h *client.Host) (runtime.Provider, error) {
	return native.New(native.Options{Version: s.Version, Report: s.startStep, Machine: muxOnly{h}})
}

// muxOnly is a machine of which only the multiplexer can be reached, by a program for each
// connection.
type muxOnly struct{ *client.Host }

var _ native.Machine = muxOnly{}

// Mux implements native.Machine.
func (m muxOnly) Mux(ctx context.Context, start bool) (net.Conn, error) {
	dial := m.Host.Dial
	if start {
		dial = m.Ensure
	}
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Stream(ctx)
}

// Environ implements native.Machine.
func (m muxOnly) Environ(ctx context.Context, _ []string) ([]string, error) {
	return m.Host.Environ(ctx)
}

// Dir implements native.Machine: the multiplexer there checks a work dir.
func (m muxOnly) Dir(_ context.Context, path string, _ bool) (string, error) { return path, nil }

// Skew implements native.Machine.
func (m muxOnly) Skew(context.Context) (time.Duration, error) { return 0, m.lacks("its time") }

// Run implements native.Machine.
func (m muxOnly) Run(context.Context, spawn.Command) (int, error) { return 0, m.lacks("commands") }

// Stage implements native.Machine.
func (m muxOnly) Stage(context.Context, string, staging.Plan) error { return m.lacks("copying files") }

// Program implements native.Machine.
func (m muxOnly) Program(context.Context, int, string) (map[string]string, error) {
	return nil, m.lacks("its processes")
}

// Roots implements native.Machine.
func (m muxOnly) Roots(context.Context, string) ([]proctree.Root, error) {
	return nil, m.lacks("its processes")
}

// End implements native.Machine.
func (m muxOnly) End(context.Context, int, uint64, string, time.Duration) error {
	return m.lacks("its processes")
}

func (m muxOnly) lacks(what string) error {
	return fmt.Errorf("%s of %s: %w", what, m.Host, runtime.ErrUnsupported)
}

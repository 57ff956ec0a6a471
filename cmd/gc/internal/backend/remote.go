package backend

import (
	"context"
	"net"
	goruntime "runtime"
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// Remote returns the provider of another machine's sessions. It connects to that machine;
// whether that failed, and why, is the error of each call.
func (s *Set) Remote(ctx context.Context, h *client.Host) (runtime.Provider, error) {
	d := &held{host: h, mine: many.Hello{Version: s.Version, OS: goruntime.GOOS, Arch: goruntime.GOARCH}}
	s.opened = append(s.opened, d)
	var m native.Machine = far.NewClient(h.String(), d)
	if _, err := d.open(ctx); client.IsTooOld(err) {
		m = muxOnly{h}
	}
	return native.New(native.Options{Version: s.Version, Report: s.startStep, Machine: m})
}

// held is one stream to a host, which carries all connections of a command. It is made
// again after a loss.
type held struct {
	host *client.Host
	mine many.Hello

	mu      sync.Mutex
	session *many.Session
	failed  error // the first attempt: another would say the same
}

// Dial implements far.Dialer.
func (d *held) Dial(ctx context.Context, kind string, args any) (net.Conn, error) {
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.Dial(ctx, kind, args)
}

func (d *held) open(ctx context.Context) (*many.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil || d.session != nil && d.session.Err() == nil {
		return d.session, d.failed
	}
	first := d.session == nil
	s, err := d.again(ctx)
	if err == nil {
		d.session = s
	} else if first && ctx.Err() == nil {
		d.failed = err
	}
	return s, err
}

func (d *held) again(ctx context.Context) (*many.Session, error) {
	rw, err := d.host.Stream(ctx)
	if err != nil {
		return nil, err
	}
	return many.Open(ctx, rw, d.mine, many.Options{})
}

// Close ends the stream.
func (d *held) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == nil {
		return nil
	}
	return d.session.Close()
}

// muxOnly is a machine whose gc is too old for a stream of many connections: only its
// multiplexer can be reached, by a program for each connection.
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
func (m muxOnly) Boot(context.Context) (string, error)        { return "", nil }
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
	return cli.Fail(cli.ExitUnsupported, "gc host install "+m.String()+" puts this version there",
		"%s: %s: the gc there is too old: %w", m.Host, what, runtime.ErrUnsupported)
}

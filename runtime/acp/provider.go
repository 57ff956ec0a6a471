// Package acp is the provider for agents that speak the Agent Client Protocol.
//
// The program of such a session is a host (package internal/acp/host), which another
// provider, the base, runs in a terminal of its own. What the agent is doing, and what it
// asks, comes from the host's control socket. All else goes to the base, also messages,
// answers and interrupts: its multiplexer delivers them through that socket, and knows who
// sent them. So it keeps no state, and an agent outlives every process that uses it.
//
// Its invariant: what an agent does is known from its own messages; a nudge is
// submitted only when the agent has taken it. It serves cities with session = "acp";
// only cmd/gc makes one.
package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/wrap"
)

// Options configure a Provider.
type Options struct {
	Base    runtime.Provider // hosts the sessions; must be runtime.Controlled
	Dir     string           // absolute; each session keeps its transcript and queue in a folder of it
	Machine Machine          // of the sessions, if it is another one; Dir is then relative to where hosts keep theirs
	Version string           // of this gc
	Host    string           // the program that is run as host; "": this one
	Report  func(runtime.Step)

	StopGrace time.Duration // for the agent to end by itself at a stop; 0: 5 s
}

// Machine is another machine with a gc; a *far.Client is one.
type Machine interface {
	// Run is spawn.Run there; a Line gets the environment of the machine, with GC_BIN.
	Run(ctx context.Context, c spawn.Command) (code int, err error)
}

// Provider implements runtime.Provider. Safe for concurrent use.
type Provider struct {
	*wrap.Around
	o    Options
	base runtime.Controlled
}

var (
	_ runtime.Provider               = (*Provider)(nil)
	_ runtime.ActivityProvider       = (*Provider)(nil)
	_ runtime.InteractionProvider    = (*Provider)(nil)
	_ runtime.ImmediateNudgeProvider = (*Provider)(nil)
	_ runtime.InterruptNudgeProvider = (*Provider)(nil)
	_ runtime.IdleWaitProvider       = (*Provider)(nil)
	_ runtime.Waiter                 = (*Provider)(nil)
	_ runtime.ConversationProvider   = (*Provider)(nil)
	_ runtime.TurnProvider           = (*Provider)(nil)
	_ runtime.ModeProvider           = (*Provider)(nil)

	_ runtime.InterruptedTurnResetProvider  = (*Provider)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*Provider)(nil)
)

// New returns a provider; it starts nothing.
func New(o Options) (*Provider, error) {
	base, ok := runtime.As[runtime.Controlled](o.Base)
	if !ok {
		return nil, fmt.Errorf("acp: sessions of %T have no control socket: %w", o.Base, runtime.ErrUnsupported)
	}
	if filepath.IsAbs(o.Dir) != (o.Machine == nil) {
		return nil, fmt.Errorf("acp: the folder %q does not fit the machine", o.Dir)
	}
	if o.Host == "" {
		program, err := self.Program()
		if err != nil {
			return nil, fmt.Errorf("acp: %w", err)
		}
		o.Host = program
	}
	if o.StopGrace <= 0 {
		o.StopGrace = stopGrace
	}
	return &Provider{Around: wrap.Through(o.Base), o: o, base: base}, nil
}

// DefaultDir is the folder of a city's agents, or of the user's sessions without a
// city.
func DefaultDir(getenv func(string) string, city string) (string, error) {
	if city != "" {
		return filepath.Join(city, ".gc", "acp"), nil
	}
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("neither XDG_STATE_HOME nor HOME is set")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "gc", "acp"), nil
}

// SessionDir is the folder of one session below that of DefaultDir.
func SessionDir(dir, session string) string { return filepath.Join(dir, session) }

// Close closes the base.
func (p *Provider) Close() error {
	if c, ok := runtime.As[io.Closer](p.o.Base); ok {
		return c.Close()
	}
	return nil
}

// Capabilities implements runtime.Provider.
func (p *Provider) Capabilities() runtime.Capabilities {
	c := p.o.Base.Capabilities()
	c.Activity, c.Ordered, c.Prompts = true, true, true
	c.Keys, c.KeyModes, c.ExactPeek, c.Relaunch = false, false, false, false
	return c
}

// AskCapabilities implements runtime.CapabilityAsker.
func (p *Provider) AskCapabilities(context.Context) (runtime.Capabilities, error) {
	return p.Capabilities(), nil
}

// Behind implements runtime.Forwarder: the provider adds to what the base has.
func (p *Provider) Behind() []runtime.Provider { return []runtime.Provider{p} }

// SupportsTransport reports whether the provider hosts sessions of the transport.
func (p *Provider) SupportsTransport(t string) bool { return t == "acp" }

// client connects to the host of a session. ErrSessionNotFound without one.
func (p *Provider) client(ctx context.Context, name string) (*control.Client, error) {
	conn, err := p.base.Control(ctx, name)
	if err != nil {
		return nil, err
	}
	return control.NewClient(conn), nil
}

// attempts is how often a request that may be repeated is made while the multiplexer's
// server restarts.
const attempts = 5

// query runs f, which may be repeated, on a connection to the host.
func (p *Provider) query(ctx context.Context, name string, f func(*control.Client) error) error {
	var err error
	for range attempts {
		var c *control.Client
		if c, err = p.client(ctx, name); err != nil {
			return err
		}
		err = f(c)
		c.Close()
		if !errors.Is(err, control.ErrLost) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err)
}

// state asks the host what it knows.
func (p *Provider) state(ctx context.Context, name string) (control.State, error) {
	var s control.State
	err := p.query(ctx, name, func(c *control.Client) (err error) {
		s, err = c.State(ctx)
		return err
	})
	return s, err
}

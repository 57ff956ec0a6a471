// Package native is the runtime provider over gc's own multiplexer.
//
// Its invariant: what it answers comes from the server or from the lock of the
// server's state directory, and from nothing else. No server at all means no
// sessions; a server that cannot be asked means ErrBackendUnreachable. Only
// Start, Events and ConfigureServer bring a server up; no query spawns a
// process. It serves every city that selects no other provider.
package native

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Options configure a Provider. The zero value is the user's own server.
type Options struct {
	Paths   api.Paths // zero: mux.DefaultPaths of this process
	Version string    // what a server started by us reports
	Host    *mux.Host // whose server it is; nil: this machine's, at Paths

	// Environ is the environment that sessions inherit the named variables
	// from; nil: this process's, or what a command gets on Host.
	Environ []string

	StopGrace time.Duration      // between TERM and KILL; 0 = 5 s
	Limits    driver.Limits      // of the start sequence
	Report    func(runtime.Step) // of every step of every start; may be nil
}

// defaultGrace is how long Stop lets a tree end by itself.
const defaultGrace = 5 * time.Second

// Provider implements runtime.Provider. It connects at the first use and again
// after the server restarted. Safe for concurrent use.
type Provider struct {
	o Options

	starts   driver.Starts
	answered atomic.Int64 // when the server last answered, in nanoseconds since epoch

	mu     sync.Mutex
	client *mux.Client // nil until the first use, and after a loss
}

var (
	_ runtime.Provider                = (*Provider)(nil)
	_ runtime.EventSource             = (*Provider)(nil)
	_ runtime.ExitReporter            = (*Provider)(nil)
	_ runtime.Waiter                  = (*Provider)(nil)
	_ runtime.IdleWaitProvider        = (*Provider)(nil)
	_ runtime.ImmediateNudgeProvider  = (*Provider)(nil)
	_ runtime.RelaunchProvider        = (*Provider)(nil)
	_ runtime.ExecProvider            = (*Provider)(nil)
	_ runtime.StartupProvider         = (*Provider)(nil)
	_ runtime.ProgramWatcher          = (*Provider)(nil)
	_ runtime.ProcessTableScanner     = (*Provider)(nil)
	_ runtime.ServerLifecycleProvider = (*Provider)(nil)
)

// New returns a provider. Nothing is started or connected yet. The error says
// that the state directory cannot be named.
func New(o Options) (*Provider, error) {
	if o.Paths == (api.Paths{}) && o.Host == nil {
		paths, err := api.DefaultPaths(os.Getenv)
		if err != nil {
			return nil, err
		}
		o.Paths = paths
	}
	if o.Environ == nil && o.Host == nil {
		o.Environ = os.Environ()
	}
	if o.StopGrace <= 0 {
		o.StopGrace = defaultGrace
	}
	return &Provider{o: o}, nil
}

// Close drops the connection. Sessions and server go on; a later call connects
// again.
func (p *Provider) Close() error {
	p.mu.Lock()
	c := p.client
	p.client = nil
	p.mu.Unlock()
	if c != nil {
		return c.Close()
	}
	return nil
}

// Capabilities implements runtime.Provider.
func (p *Provider) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{
		Attach: true, AttachDetection: true, Activity: true, ExactPeek: true, Keys: true,
		DurableMeta: true, LastScreen: true, LastWords: true, ProcessTree: true, KeyModes: true, Exec: true, Relaunch: true, Ordered: true,
	}
}

// Client returns a connection to the running server, for what goes beyond the
// contract. It belongs to the provider: do not close it. The error matches
// mux.ErrNoServer when there is none.
func (p *Provider) Client(ctx context.Context) (*mux.Client, error) {
	return p.connect(ctx, func(ctx context.Context) (*mux.Client, error) {
		if p.o.Host != nil {
			return p.o.Host.Dial(ctx)
		}
		return mux.Dial(ctx, p.o.Paths)
	})
}

// EnsureClient is Client, but starts a server when there is none.
func (p *Provider) EnsureClient(ctx context.Context) (*mux.Client, error) {
	return p.connect(ctx, func(ctx context.Context) (*mux.Client, error) {
		if p.o.Host != nil {
			return p.o.Host.Ensure(ctx)
		}
		return mux.Ensure(ctx, p.o.Paths, p.o.Version)
	})
}

func (p *Provider) connect(ctx context.Context, dial func(context.Context) (*mux.Client, error)) (*mux.Client, error) {
	p.mu.Lock()
	c := p.client
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil { // somebody else was faster
		c.Close()
		return p.client, nil
	}
	p.client = c
	return c, nil
}

// drop forgets a client whose server did not answer.
func (p *Provider) drop(c *mux.Client) {
	p.mu.Lock()
	if p.client == c {
		p.client = nil
	}
	p.mu.Unlock()
	c.Close()
}

// epoch is when the process began, for times that no change of the clock moves.
var epoch = time.Now()

// proved reports whether the server has answered so lately that it is believed
// to be there.
func (p *Provider) proved() bool {
	at := p.answered.Load()
	return at > 0 && time.Since(epoch)-time.Duration(at) < provedTime
}

// tries is how often a request that may be repeated is made while its server
// restarts.
const tries = 3

// query runs f, which may be repeated safely. A lost connection is made again:
// mux.Dial waits for a server that is restarting and says when there is none.
func (p *Provider) query(ctx context.Context, f func(*mux.Client) error) error {
	var err error
	for range tries {
		var c *mux.Client
		c, err = p.Client(ctx)
		if err != nil {
			return convert(err)
		}
		err = f(c)
		if err == nil || errors.Is(err, api.ErrNotFound) {
			p.answered.Store(int64(time.Since(epoch)))
		}
		if err == nil || !errors.Is(err, api.ErrUnreachable) {
			break
		}
		if errors.Is(err, api.ErrFrozen) {
			break // the client knows, and does not wait as long again
		}
		p.drop(c)
		if ctx.Err() != nil {
			break
		}
	}
	return convert(err)
}

// send runs f once, after the connection was proved: what may have been
// delivered is never sent again.
func (p *Provider) send(ctx context.Context, f func(*mux.Client) error) error {
	err := p.query(ctx, func(c *mux.Client) error { _, err := c.Status(ctx); return err })
	if err != nil {
		return err
	}
	c, err := p.Client(ctx)
	if err != nil {
		return convert(err)
	}
	err = f(c)
	if errors.Is(err, api.ErrUnreachable) {
		p.drop(c)
	}
	return convert(err)
}

// convert maps the multiplexer's errors to the contract's. No server is
// ErrSessionNotFound: there is nothing it could be found in.
func convert(err error) error {
	var to error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, api.ErrNoServer), errors.Is(err, api.ErrNotFound):
		to = runtime.ErrSessionNotFound
	case errors.Is(err, api.ErrExists):
		to = runtime.ErrSessionExists
	case errors.Is(err, keys.ErrUnknown):
		to = runtime.ErrUnknownKey
	case errors.Is(err, api.ErrBadName):
		to = runtime.ErrBadName
	case errors.Is(err, api.ErrUnreachable),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		to = runtime.ErrBackendUnreachable
	default:
		return err
	}
	if errors.Is(err, to) {
		return err
	}
	return &converted{to, err}
}

// startError is convert for a server that cannot start a session now.
func startError(err error) error {
	for _, busy := range []error{api.ErrEnding, api.ErrTerminals, api.ErrOpenFiles, api.ErrStart, api.ErrStateDir} {
		if errors.Is(err, busy) {
			return &startFailure{err}
		}
	}
	if errors.Is(err, api.ErrNoServer) { // it ended just now
		return &converted{runtime.ErrBackendUnreachable, err}
	}
	return convert(err)
}

// startFailure is an ErrBackendBusy in the multiplexer's own words.
type startFailure struct{ error }

func (f *startFailure) Unwrap() error        { return f.error }
func (f *startFailure) Is(target error) bool { return target == runtime.ErrBackendBusy }

// converted is an error of the multiplexer that is one of the contract's.
type converted struct{ to, err error }

func (c *converted) Error() string {
	if text := c.err.Error(); strings.HasPrefix(text, c.to.Error()) { // both have the same words for it
		return text
	}
	return c.to.Error() + ": " + c.err.Error()
}

func (c *converted) Unwrap() []error { return []error{c.to, c.err} }

// gone reports whether err says that there is no running session.
func gone(err error) bool {
	return errors.Is(err, runtime.ErrSessionNotFound) || errors.Is(err, api.ErrExited)
}

// get returns the session of the name, running or exited.
func (p *Provider) get(ctx context.Context, name string) (api.SessionInfo, error) {
	var info api.SessionInfo
	err := p.query(ctx, func(c *mux.Client) (err error) {
		info, err = c.Get(ctx, name)
		return err
	})
	if err == nil && info.Name != name { // the server also takes ids
		return api.SessionInfo{}, runtime.ErrSessionNotFound
	}
	return info, err
}

// live returns the running session of the name; ErrSessionNotFound for one
// that exited.
func (p *Provider) live(ctx context.Context, name string) (api.SessionInfo, error) {
	info, err := p.get(ctx, name)
	if err == nil && info.State != api.StateRunning {
		return info, runtime.ErrSessionNotFound
	}
	return info, err
}

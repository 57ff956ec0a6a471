// Package native is the runtime provider over gc's own multiplexer.
//
// Its invariant: its answers come only from the server or from the lock of the
// server's state directory. No server means no sessions; a server that does not
// answer means ErrBackendUnreachable. Only Start, Events and ConfigureServer start a
// server; queries never start a process. It keeps no state of sessions. It serves
// every city that selects no other provider; only cmd/gc makes one.
package native

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Options configure a Provider. The zero value means the user's own server.
type Options struct {
	Paths   api.Paths // zero: mux.DefaultPaths of this process
	Version string    // reported by a server that the provider starts
	Machine Machine   // of the sessions; nil: this one, with the server at Paths

	// Environ is the environment from which sessions inherit variables; nil: this
	// process's. Sessions on Machine inherit from that.
	Environ []string

	MakeWorkDir bool // on Machine: a work dir that does not exist is made before anything else

	Sessions Sessions // which of the server's sessions exist for this provider

	Connection *Connection // shared with other providers over the same server; nil: its own

	StopGrace time.Duration      // between TERM and KILL; 0 = 5 s
	Limits    driver.Limits      // of the start sequence
	Report    func(runtime.Step) // of every step of every start; may be nil
}

// Sessions selects sessions of the server. Two providers over one server, one for
// agents in terminals and one for those with a control socket, each see their own.
type Sessions int

// Selections.
const (
	AllSessions Sessions = iota
	WithoutControl
	WithControl
)

// has reports whether a session is one of the selection.
func (s Sessions) has(info api.SessionInfo) bool {
	return s == AllSessions || info.Control == (s == WithControl)
}

// hasEvent is has, for an event.
func (s Sessions) hasEvent(e api.Event) bool {
	return s == AllSessions || e.Control == (s == WithControl)
}

// defaultGrace is how long Stop lets processes end by themselves.
const defaultGrace = 5 * time.Second

// Provider implements runtime.Provider. It connects on first use and reconnects after
// a restart of the server. Safe for concurrent use.
type Provider struct {
	driver.Local // exec, and the process table

	o Options

	starts   driver.Starts
	skew     skew
	answered atomic.Int64 // when the server last answered, in ns since epoch
	conn     *Connection
}

// Connection is a connection to a server, made on first use. The zero value is ready.
type Connection struct {
	mu     sync.Mutex
	client *client.Client // nil before first use and after a loss
}

var (
	_ runtime.Provider                = (*Provider)(nil)
	_ runtime.EventSource             = (*Provider)(nil)
	_ runtime.ExitReporter            = (*Provider)(nil)
	_ runtime.Waiter                  = (*Provider)(nil)
	_ runtime.IdleWaitProvider        = (*Provider)(nil)
	_ runtime.ImmediateNudgeProvider  = (*Provider)(nil)
	_ runtime.InterruptNudgeProvider  = (*Provider)(nil)
	_ runtime.RelaunchProvider        = (*Provider)(nil)
	_ runtime.ExecProvider            = (*Provider)(nil)
	_ runtime.StartupProvider         = (*Provider)(nil)
	_ runtime.ProgramWatcher          = (*Provider)(nil)
	_ runtime.ProcessTableScanner     = (*Provider)(nil)
	_ runtime.ServerLifecycleProvider = (*Provider)(nil)
	_ runtime.RecordingKeeper         = (*Provider)(nil)
	_ runtime.Controlled              = (*Provider)(nil)
)

// New returns a provider without starting or connecting anything. It fails if the
// state directory cannot be determined.
func New(o Options) (*Provider, error) {
	if o.Paths == (api.Paths{}) && o.Machine == nil {
		paths, err := api.DefaultPaths(os.Getenv)
		if err != nil {
			return nil, err
		}
		o.Paths = paths
	}
	if o.Environ == nil && o.Machine == nil {
		o.Environ = os.Environ()
	}
	if o.StopGrace <= 0 {
		o.StopGrace = defaultGrace
	}
	if o.Connection == nil {
		o.Connection = new(Connection)
	}
	p := &Provider{o: o, conn: o.Connection}
	local := driver.LocalSessions{Provider: "native", Grace: o.StopGrace, Box: p.Box, Tracked: p.tracked}
	if m := o.Machine; m != nil {
		local.Run, local.Roots, local.End = p.runThere, p.rootsThere, p.endThere
	}
	p.Local = driver.NewLocal(local)
	return p, nil
}

// Close closes the connection. Sessions and server keep running; a later call
// reconnects.
func (p *Provider) Close() error {
	p.conn.mu.Lock()
	c := p.conn.client
	p.conn.client = nil
	p.conn.mu.Unlock()
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

// Client returns a connection to the running server, for features outside the
// contract. The provider owns it: do not close it. Without a server the error matches
// api.ErrNoServer.
func (p *Provider) Client(ctx context.Context) (*client.Client, error) {
	return p.connect(ctx, func(ctx context.Context) (*client.Client, error) {
		if p.o.Machine != nil {
			return p.reach(ctx, false)
		}
		return client.Dial(ctx, p.o.Paths)
	})
}

// EnsureClient is Client, but starts a server if there is none.
func (p *Provider) EnsureClient(ctx context.Context) (*client.Client, error) {
	return p.connect(ctx, func(ctx context.Context) (*client.Client, error) {
		if p.o.Machine != nil {
			return p.reach(ctx, true)
		}
		return client.Ensure(ctx, p.o.Paths, p.o.Version)
	})
}

func (p *Provider) connect(ctx context.Context, dial func(context.Context) (*client.Client, error)) (*client.Client, error) {
	p.conn.mu.Lock()
	c := p.conn.client
	p.conn.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	if p.conn.client != nil { // another goroutine was faster
		c.Close()
		return p.conn.client, nil
	}
	p.conn.client = c
	return c, nil
}

// drop discards a client whose server did not answer.
func (p *Provider) drop(c *client.Client) {
	p.conn.mu.Lock()
	if p.conn.client == c {
		p.conn.client = nil
	}
	p.conn.mu.Unlock()
	c.Close()
}

// epoch is the process's start, for times on the monotonic clock.
var epoch = time.Now()

// proved reports whether the server answered so recently that it can be assumed to
// run.
func (p *Provider) proved() bool {
	at := p.answered.Load()
	return at > 0 && time.Since(epoch)-time.Duration(at) < provedTime
}

// tries is how often a repeatable request is made while the server restarts.
const tries = 3

// query runs f, which must be safe to repeat. It reconnects after a loss: mux.Dial
// waits for a server that is restarting and fails if there is none.
func (p *Provider) query(ctx context.Context, f func(*client.Client) error) error {
	var err error
	for range tries {
		var c *client.Client
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
			break // the client has waited already
		}
		p.drop(c)
		if ctx.Err() != nil {
			break
		}
	}
	return convert(err)
}

// send runs f once, on a proved connection: what may have been delivered is never
// sent again.
func (p *Provider) send(ctx context.Context, f func(*client.Client) error) error {
	err := p.query(ctx, func(c *client.Client) error { _, err := c.Status(ctx); return err })
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

// convert maps the multiplexer's errors to the contract's. ErrSessionNotFound also means
// that there is no server, or that the session has exited.
func convert(err error) error {
	var to error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, api.ErrNoServer), errors.Is(err, api.ErrNotFound), errors.Is(err, api.ErrExited):
		to = runtime.ErrSessionNotFound
	case errors.Is(err, api.ErrExists):
		to = runtime.ErrSessionExists
	case errors.Is(err, keys.ErrUnknown):
		to = runtime.ErrUnknownKey
	case errors.Is(err, api.ErrQuestion):
		to = runtime.ErrQuestion
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

// startError is convert for a server that cannot start a session at present.
func (p *Provider) startError(err error) error {
	for _, busy := range []error{api.ErrEnding, api.ErrTerminals, api.ErrOpenFiles, api.ErrStart, api.ErrStateDir} {
		if errors.Is(err, busy) {
			return &startFailure{p.named(err), p.startHint(err)}
		}
	}
	if errors.Is(err, api.ErrNoServer) { // it has just ended
		return &converted{runtime.ErrBackendUnreachable, err}
	}
	return convert(err)
}

// startHint is the next step after a failed start; "" if the error says it, or it is
// unknown.
func (p *Provider) startHint(err error) string {
	var own interface{ Hint() string }
	switch {
	case errors.As(err, &own) && own.Hint() != "":
		return own.Hint()
	case errors.Is(err, api.ErrTerminals):
		return api.HintTerminals
	case p.o.Machine != nil && !errors.Is(err, api.ErrEnding):
		return "gc host check " + p.o.Machine.String()
	}
	return ""
}

// startFailure is an ErrBackendBusy with the multiplexer's text.
type startFailure struct {
	error
	hint string
}

// Hint is the next step, or "".
func (f *startFailure) Hint() string { return f.hint }

func (f *startFailure) Unwrap() error        { return f.error }
func (f *startFailure) Is(target error) bool { return target == runtime.ErrBackendBusy }

// converted is an error of the multiplexer that matches one of the contract's.
type converted struct{ to, err error }

func (c *converted) Error() string {
	if text := c.err.Error(); strings.HasPrefix(text, c.to.Error()) { // both use the same words
		return text
	}
	return c.to.Error() + ": " + c.err.Error()
}

func (c *converted) Unwrap() []error { return []error{c.to, c.err} }

func gone(err error) bool { return errors.Is(err, runtime.ErrSessionNotFound) }

// get returns the session of the name, running or exited.
func (p *Provider) get(ctx context.Context, name string) (api.SessionInfo, error) {
	var info api.SessionInfo
	err := p.query(ctx, func(c *client.Client) (err error) {
		info, err = c.Get(ctx, name)
		return err
	})
	if err == nil && (info.Name != name || !p.o.Sessions.has(info)) { // the server also accepts ids
		return api.SessionInfo{}, runtime.ErrSessionNotFound
	}
	return info, err
}

// live returns the running session of the name; ErrSessionNotFound if it exited.
func (p *Provider) live(ctx context.Context, name string) (api.SessionInfo, error) {
	info, err := p.get(ctx, name)
	if err == nil && info.State != api.StateRunning {
		return info, runtime.ErrSessionNotFound
	}
	return info, err
}

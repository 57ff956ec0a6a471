// Package router is the provider that hosts each session with one of several
// others, its backends: by the session's own transport (auto), or by its name
// (hybrid).
//
// Its invariant: a call goes to the backend where the session lives, whatever the
// config says meanwhile; and a backend that does not answer makes the result
// unknown, never "not running". It keeps nothing on disk and never moves a
// session. It serves cities that mix providers; only cmd/gc makes one.
package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"sync"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
	"gascity.dev/gc/runtime/wrap"
)

// Options configure a Router.
type Options struct {
	// Open makes a backend. It is called at most once for each name.
	Open func(name string) (runtime.Provider, error)
	// Backends are opened by New and searched for sessions whose place is not known
	// yet. At least one.
	Backends []string
	// Home names the backend of a session whose Config has no transport; it must be
	// one of Backends. nil: the first.
	Home func(session string) string
	// Fixed makes Home decide alone: another transport is an error.
	Fixed bool
}

// Router implements runtime.Provider and every optional interface that one of its
// backends has. Calls about one session go through the embedded Forward. Safe for
// concurrent use.
type Router struct {
	wrap.Forward
	o      Options
	first  []*backend // those that New opened
	starts driver.Starts

	mu       sync.Mutex
	backends []*backend
	added    chan struct{}       // closed when a backend is added
	placed   map[string]*backend // where a session was last seen alive
}

// backend is a provider and its name, which errors show.
type backend struct {
	runtime.Provider
	name string
}

func (b *backend) Unwrap() runtime.Provider { return b.Provider }

func (b *backend) String() string { return "provider " + b.name }

var (
	_ runtime.Router                  = (*Router)(nil)
	_ runtime.Placer                  = (*Router)(nil)
	_ runtime.EventSource             = (*Router)(nil)
	_ runtime.ManyActivities          = (*Router)(nil)
	_ runtime.ManyProcesses           = (*Router)(nil)
	_ runtime.ProcessTableScanner     = (*Router)(nil)
	_ runtime.ServerLifecycleProvider = (*Router)(nil)
	_ runtime.RecordingKeeper         = (*Router)(nil)
)

// Auto hosts each session where its Config.Transport says, else with the backend
// home. The others are backends from the start, too.
func Auto(open func(string) (runtime.Provider, error), home string, others ...string) (*Router, error) {
	return New(Options{Open: open, Backends: append([]string{home}, others...)})
}

// Hybrid hosts the sessions whose name matches one of the patterns (path.Match)
// with the backend remote, and all others with the backend local.
func Hybrid(open func(string) (runtime.Provider, error), local, remote string, patterns []string) (*Router, error) {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("remote sessions %q: %w", p, err)
		}
	}
	home := func(session string) string {
		for _, p := range patterns {
			if ok, err := path.Match(p, session); ok && err == nil {
				return remote
			}
		}
		return local
	}
	return New(Options{Open: open, Backends: []string{local, remote}, Home: home, Fixed: true})
}

// New opens the backends. An error names the backend that cannot be made; those
// opened before it are closed.
func New(o Options) (*Router, error) {
	if len(o.Backends) == 0 {
		return nil, errors.New("router without backends")
	}
	r := &Router{o: o, added: make(chan struct{}), placed: map[string]*backend{}}
	r.Send = func(ctx context.Context, c wrap.Call, do func(context.Context, runtime.Provider) error) error {
		b, err := r.find(ctx, c.Session)
		if err != nil {
			return err
		}
		return do(ctx, b)
	}
	for _, name := range o.Backends {
		if _, err := r.open(name); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	r.first = r.list()
	return r, nil
}

// open returns the backend of the name, making it when there is none yet.
func (r *Router) open(name string) (*backend, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.backends {
		if b.name == name {
			return b, nil
		}
	}
	p, err := r.o.Open(name)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", name, err)
	}
	b := &backend{Provider: p, name: name}
	r.backends = append(r.backends, b)
	close(r.added)
	r.added = make(chan struct{})
	return b, nil
}

// Close closes the backends that can be closed; their sessions go on.
func (r *Router) Close() error {
	var errs []error
	for _, b := range r.list() {
		if c, ok := runtime.As[io.Closer](b); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

func (r *Router) list() []*backend {
	list, _ := r.now()
	return list
}

// now returns the backends, and a channel that is closed when there is another one.
func (r *Router) now() ([]*backend, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.backends), r.added
}

// Searches implements runtime.Router.
func (r *Router) Searches(name string) bool {
	return slices.ContainsFunc(r.list(), func(b *backend) bool { return b.name == name })
}

// Behind implements runtime.Forwarder.
func (r *Router) Behind() []runtime.Provider {
	var out []runtime.Provider
	for _, b := range r.list() {
		out = append(out, b.Provider)
	}
	return out
}

// BackendFor implements runtime.Router.
func (r *Router) BackendFor(ctx context.Context, name string) (runtime.Provider, error) {
	b, err := r.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return b.Provider, nil
}

// Capabilities implements runtime.Provider: what every backend of New can do.
func (r *Router) Capabilities() runtime.Capabilities {
	c := r.first[0].Capabilities()
	for _, b := range r.first[1:] {
		c = both(c, b.Capabilities())
	}
	return c
}

// both is what two providers can do: Capabilities are facts, true or false.
func both(a, b runtime.Capabilities) runtime.Capabilities {
	mine, other := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range mine.NumField() {
		mine.Field(i).SetBool(mine.Field(i).Bool() && other.Field(i).Bool())
	}
	return a
}

// SupportsTransport implements runtime.Router: "", a backend, or what can be made
// one; "terminal" if a backend has terminals.
func (r *Router) SupportsTransport(t string) bool {
	if t == "" {
		return true
	}
	for _, b := range r.list() {
		if b.name == t || t == "terminal" && b.Capabilities().Attach {
			return true
		}
	}
	if r.o.Fixed || t == "terminal" {
		return false
	}
	_, err := r.open(t)
	return err == nil
}

// Start implements runtime.Provider. The session goes to the backend that
// cfg.Transport names, else to its home; a session of that name on another backend
// is ErrSessionExists.
func (r *Router) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	to, err := r.target(name, cfg.Transport)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	release, ok := r.starts.Hold(name)
	if !ok {
		return fmt.Errorf("start %s: %w", name, runtime.ErrSessionExists)
	}
	defer release()
	if err := r.elsewhere(ctx, name, to); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := to.Start(ctx, name, cfg); err != nil {
		return err
	}
	r.remember(name, to)
	return nil
}

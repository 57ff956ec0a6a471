// Package router is the provider that hosts each session with one of several
// others, its sides: by the session's own wish (auto), or by its name (hybrid).
//
// Its invariant: a call goes to the side where the session lives, whatever the
// config says meanwhile; and a side that cannot be asked makes an answer
// unknown, never "not running". It serves cities that mix providers.
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
)

// Options configure a Router.
type Options struct {
	// Open makes a side. It is called at most once for each name.
	Open func(side string) (runtime.Provider, error)
	// Sides are opened by New and looked through for sessions that nobody has
	// placed yet. At least one.
	Sides []string
	// Home names the side of a session whose Config has no wish; it must be one
	// of Sides. nil: the first.
	Home func(session string) string
	// Fixed makes Home decide alone: a wish is an error unless Home agrees.
	Fixed bool
}

// Router implements runtime.Provider and every optional interface that one of
// its sides has. Safe for concurrent use.
type Router struct {
	o     Options
	first []*side // those that New opened

	mu     sync.Mutex
	sides  []*side
	placed map[string]*side // where a session was last seen alive
	starts map[string]bool  // names whose Start is under way here
}

type side struct {
	name string
	runtime.Provider
}

var _ runtime.Router = (*Router)(nil)

// Auto hosts each session where its Config.Transport says, else with the side
// home. The others are sides from the start, too.
func Auto(open func(string) (runtime.Provider, error), home string, others ...string) (*Router, error) {
	return New(Options{Open: open, Sides: append([]string{home}, others...)})
}

// Hybrid hosts the sessions whose name matches one of the patterns (path.Match)
// with the side remote, and all others with the side local.
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
	return New(Options{Open: open, Sides: []string{local, remote}, Home: home, Fixed: true})
}

// New opens the sides. An error names the side that cannot be made; nothing was
// touched then.
func New(o Options) (*Router, error) {
	if len(o.Sides) == 0 {
		return nil, errors.New("a router without sides")
	}
	r := &Router{o: o, placed: map[string]*side{}, starts: map[string]bool{}}
	for _, name := range o.Sides {
		if _, err := r.open(name); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	r.first = r.list()
	return r, nil
}

// open returns the side of the name, making it when there is none yet.
func (r *Router) open(name string) (*side, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sides {
		if s.name == name {
			return s, nil
		}
	}
	p, err := r.o.Open(name)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", name, err)
	}
	s := &side{name, p}
	r.sides = append(r.sides, s)
	return s, nil
}

// Close closes the sides that can be closed; their sessions go on.
func (r *Router) Close() error {
	var errs []error
	for _, s := range r.list() {
		if c, ok := runtime.As[io.Closer](s.Provider); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

func (r *Router) list() []*side {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sides)
}

// Sides implements runtime.Router.
func (r *Router) Sides() []runtime.Provider {
	var out []runtime.Provider
	for _, s := range r.list() {
		out = append(out, s.Provider)
	}
	return out
}

// SideFor implements runtime.Router.
func (r *Router) SideFor(ctx context.Context, name string) (runtime.Provider, error) {
	s, err := r.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.Provider, nil
}

// Capabilities implements runtime.Provider: what every side of the start can do.
func (r *Router) Capabilities() runtime.Capabilities {
	c := r.first[0].Capabilities()
	for _, s := range r.first[1:] {
		c = both(c, s.Capabilities())
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

// SupportsTransport implements runtime.TransportCapabilityProvider: "", a side,
// or what can be made one; "terminal" when a side has terminals.
func (r *Router) SupportsTransport(t string) bool {
	if t == "" {
		return true
	}
	for _, s := range r.list() {
		if s.name == t || t == "terminal" && s.Capabilities().Attach {
			return true
		}
		if own, ok := runtime.As[runtime.TransportCapabilityProvider](s.Provider); ok && own.SupportsTransport(t) {
			return true
		}
	}
	if r.o.Fixed || t == "terminal" {
		return false
	}
	_, err := r.open(t)
	return err == nil
}

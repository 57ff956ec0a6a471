package runtime

import (
	"context"
	"fmt"
)

// Router is a provider that hosts each session with one of several others, its
// sides. What a session can do is what its side can do: ask with [AsFor] and
// [CapabilitiesFor]. The router's own Capabilities are what all sides can do.
type Router interface {
	Provider
	// Sides are the providers that sessions may live with.
	Sides() []Provider
	// SideFor is the one that hosts the session, or would if it were started
	// without a wish. An error means that it cannot be told.
	SideFor(ctx context.Context, name string) (Provider, error)
}

// As finds an optional interface on p, looking through wrappers that have an
// Unwrap() Provider method. On a [Router] it is found when one side has it: the
// sessions of the others answer with ErrUnsupported, or the error that the
// interface has for that.
func As[T any](p Provider) (T, bool) {
	for p != nil {
		if t, ok := p.(T); ok && offered[T](p) {
			return t, true
		}
		p = unwrap(p)
	}
	var zero T
	return zero, false
}

// offered reports whether p is no router, or has a side with the interface.
func offered[T any](p Provider) bool {
	r, ok := p.(Router)
	if !ok {
		return true
	}
	for _, side := range r.Sides() {
		if _, ok := As[T](side); ok {
			return true
		}
	}
	return false
}

// unwrap is what p wraps, nil when it wraps nothing.
func unwrap(p Provider) Provider {
	if w, ok := p.(interface{ Unwrap() Provider }); ok {
		return w.Unwrap()
	}
	return nil
}

// RouterOf is the router in the chain of wrappers, nil when there is none.
func RouterOf(p Provider) Router {
	for ; p != nil; p = unwrap(p) {
		if r, ok := p.(Router); ok {
			return r
		}
	}
	return nil
}

// AsFor is [As] for one session: on a router it asks the side that hosts the
// session. The error says that the side cannot be told.
func AsFor[T any](ctx context.Context, p Provider, name string) (T, bool, error) {
	if r := RouterOf(p); r != nil {
		side, err := r.SideFor(ctx, name)
		if err != nil {
			var zero T
			return zero, false, fmt.Errorf("provider of %s: %w", name, err)
		}
		p = side
	}
	t, ok := As[T](p)
	return t, ok, nil
}

// CapabilitiesFor is what the provider can do with one session.
func CapabilitiesFor(ctx context.Context, p Provider, name string) (Capabilities, error) {
	if r := RouterOf(p); r != nil {
		side, err := r.SideFor(ctx, name)
		if err != nil {
			return Capabilities{}, fmt.Errorf("provider of %s: %w", name, err)
		}
		p = side
	}
	if asker, ok := As[CapabilityAsker](p); ok {
		return asker.AskCapabilities(ctx)
	}
	return p.Capabilities(), nil
}

// CapabilityAsker is a provider that must ask its backend what it can do.
type CapabilityAsker interface {
	// AskCapabilities is Capabilities for as long as ctx allows; the error says
	// that the backend gave no answer.
	AskCapabilities(ctx context.Context) (Capabilities, error)
}

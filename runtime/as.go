package runtime

import (
	"context"
	"fmt"
	"slices"
)

// Forwarder is a provider that has the optional interfaces as methods and passes
// their calls on. It offers one only if a provider behind it does; [As] checks that.
type Forwarder interface {
	Provider
	// Behind returns the providers that calls are passed on to; itself, if it has every
	// interface of its own accord.
	Behind() []Provider
}

// Router is a provider that hosts each session with one of several others, its
// backends. A session has the capabilities of its backend: ask with [AsFor] and
// [CapabilitiesFor]. The router's own Capabilities are those that all backends
// share.
type Router interface {
	Forwarder
	// BackendFor returns the provider that hosts the session, or would if it were
	// started without a transport. It fails if that is unknown.
	BackendFor(ctx context.Context, name string) (Provider, error)
	// SupportsTransport reports whether sessions with the Config.Transport
	// ("terminal", "acp", or a provider's name) can be hosted.
	SupportsTransport(transport string) bool
	// Searches reports whether sessions of the backend of that name are found now. A
	// backend that only SupportsTransport may be made by a Start.
	Searches(name string) bool
}

// Placer is a [Router] that can be told where sessions live.
type Placer interface {
	// Place says that the session, if it runs, runs with the backend of that name, or has
	// been seen elsewhere since. Other backends then need not answer about it.
	Place(session, backend string)
}

// As finds an optional interface on p. It looks through wrappers: those that
// forward the interface keep their deadline and input order, others must have an
// Unwrap() Provider method. A [Router] offers what one of its backends does;
// calls for a session of another backend fail with ErrUnsupported, or with the
// interface's own error for that.
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

// offered reports whether p forwards nothing, or a provider behind it has the
// interface.
func offered[T any](p Provider) bool {
	f, ok := p.(Forwarder)
	return !ok || slices.ContainsFunc(f.Behind(), func(b Provider) bool {
		if b == p {
			return true
		}
		_, ok := As[T](b)
		return ok
	})
}

// unwrap returns what p wraps, nil if it wraps nothing.
func unwrap(p Provider) Provider {
	if w, ok := p.(interface{ Unwrap() Provider }); ok {
		return w.Unwrap()
	}
	return nil
}

// RouterOf returns the router in the chain of wrappers, nil if there is none.
func RouterOf(p Provider) Router {
	for ; p != nil; p = unwrap(p) {
		if r, ok := p.(Router); ok {
			return r
		}
	}
	return nil
}

// backendOf returns the provider that hosts the session: p unless it routes.
func backendOf(ctx context.Context, p Provider, name string) (Provider, error) {
	r := RouterOf(p)
	if r == nil {
		return p, nil
	}
	b, err := r.BackendFor(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("provider of %s: %w", name, err)
	}
	return backendOf(ctx, b, name) // which may be a router itself
}

// AsFor is [As] for one session: on a router it is found only if the backend that
// hosts the session has it. It fails if that backend is unknown.
func AsFor[T any](ctx context.Context, p Provider, name string) (T, bool, error) {
	b, err := backendOf(ctx, p, name)
	if err != nil {
		var zero T
		return zero, false, err
	}
	t, ok := As[T](b)
	if ok && RouterOf(p) != nil {
		if outer, found := As[T](p); found { // with what wraps the router
			return outer, true, nil
		}
	}
	return t, ok, nil
}

// CapabilitiesFor returns what the provider can do with one session.
func CapabilitiesFor(ctx context.Context, p Provider, name string) (Capabilities, error) {
	b, err := backendOf(ctx, p, name)
	if err != nil {
		return Capabilities{}, err
	}
	if asker, ok := As[CapabilityAsker](b); ok {
		return asker.AskCapabilities(ctx)
	}
	return b.Capabilities(), nil
}

// CapabilityAsker is a provider that must ask its backend what it can do.
type CapabilityAsker interface {
	// AskCapabilities is Capabilities, within ctx; it fails if the backend gives
	// no answer.
	AskCapabilities(ctx context.Context) (Capabilities, error)
}

package router

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gascity.dev/gc/runtime"
)

// home returns the backend of a session that runs nowhere.
func (r *Router) home(name string) *backend {
	list := r.list()
	if r.o.Home == nil {
		return list[0]
	}
	want := r.o.Home(name)
	for _, b := range list {
		if b.name == want {
			return b
		}
	}
	return list[0]
}

// target returns the backend that a Start goes to.
func (r *Router) target(name, transport string) (*backend, error) {
	home := r.home(name)
	switch {
	case transport == "" || transport == home.name:
		return home, nil
	case r.o.Fixed:
		return nil, fmt.Errorf("%w: the session wants provider %s, its name belongs to %s", runtime.ErrUnsupported, transport, home.name)
	}
	return r.open(transport)
}

func (r *Router) remembered(name string) *backend {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.placed[name]
}

func (r *Router) remember(name string, b *backend) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.placed[name] = b
}

// Place implements runtime.Placer. A backend that is not there yet has no session.
func (r *Router) Place(session, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.placed[session] != nil {
		return
	}
	for _, b := range r.backends {
		if b.name == name {
			r.placed[session] = b
		}
	}
}

// find returns the backend where the session lives or last lived, or the home of
// one that no backend knows. A backend that does not answer is an error, unless
// another one has the session.
//
// A session whose place is known is not searched for elsewhere, so a backend
// that hangs delays only its own sessions. ListRunning corrects the place of a
// session that another gc process moved.
func (r *Router) find(ctx context.Context, name string) (*backend, error) {
	if b := r.remembered(name); b != nil {
		return b, nil
	}
	home := r.home(name)
	if runtime.CheckName(name) != nil {
		return home, nil // the backend refuses the name
	}
	running, homeErr := home.IsRunning(ctx, name)
	if running && homeErr == nil {
		r.remember(name, home)
		return home, nil
	}
	others, err := r.others(ctx, name, home)
	if len(others) > 0 {
		r.remember(name, others[0])
		return others[0], nil
	}
	if err = errors.Join(homeErr, err); err != nil {
		return nil, unknownPlace(name, err)
	}
	return r.ended(ctx, name, home), nil
}

// unknownPlace is the error of a session whose backend is unknown.
func unknownPlace(name string, err error) error {
	if errors.Is(err, runtime.ErrBackendUnreachable) {
		return fmt.Errorf("where %s lives: %w", name, err)
	}
	return fmt.Errorf("where %s lives: %w: %w", name, runtime.ErrBackendUnreachable, err)
}

// others returns the backends other than except in which the session runs. It
// asks all of them at once.
func (r *Router) others(ctx context.Context, name string, except *backend) ([]*backend, error) {
	list := r.list()
	found := make([]bool, len(list))
	errs := make([]error, len(list))
	var asked sync.WaitGroup
	for i, b := range list {
		if b != except {
			asked.Go(func() {
				if found[i], errs[i] = b.IsRunning(ctx, name); errs[i] != nil {
					found[i], errs[i] = false, fmt.Errorf("%s: %w", b, errs[i])
				}
			})
		}
	}
	asked.Wait()
	var have []*backend
	for i, b := range list {
		if found[i] {
			have = append(have, b)
		}
	}
	return have, errors.Join(errs...)
}

// ended returns the backend that still knows how a session ended, else its home.
func (r *Router) ended(ctx context.Context, name string, home *backend) *backend {
	for _, b := range append([]*backend{home}, r.list()...) {
		if e, ok := runtime.As[runtime.ExitReporter](b); ok {
			if _, err := e.LastExit(ctx, name); err == nil {
				return b
			}
		}
	}
	return home
}

// elsewhere returns ErrSessionExists for a session that runs on another backend
// than to, and an error if that is unknown.
func (r *Router) elsewhere(ctx context.Context, name string, to *backend) error {
	last := r.remembered(name)
	if last == to {
		return nil
	}
	if last != nil {
		running, err := last.IsRunning(ctx, name)
		if err == nil && running {
			err = fmt.Errorf("%w: it runs with %s", runtime.ErrSessionExists, last)
		}
		return err
	}
	others, err := r.others(ctx, name, to)
	if len(others) > 0 {
		return fmt.Errorf("%w: it runs with %s", runtime.ErrSessionExists, others[0])
	}
	if err != nil {
		return unknownPlace(name, err)
	}
	return nil
}

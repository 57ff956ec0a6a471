package router

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gascity.dev/gc/runtime"
)

// home is the side of a session that runs nowhere.
func (r *Router) home(name string) *side {
	sides := r.list()
	if r.o.Home == nil {
		return sides[0]
	}
	want := r.o.Home(name)
	for _, s := range sides {
		if s.name == want {
			return s
		}
	}
	return sides[0]
}

// target is the side that a Start goes to.
func (r *Router) target(name, wish string) (*side, error) {
	home := r.home(name)
	switch {
	case wish == "" || wish == home.name:
		return home, nil
	case r.o.Fixed:
		return nil, fmt.Errorf("%w: the session wants provider %s, its name belongs to %s", runtime.ErrUnsupported, wish, home.name)
	}
	return r.open(wish)
}

func (r *Router) remembered(name string) *side {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.placed[name]
}

func (r *Router) remember(name string, s *side) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.placed[name] = s
}

// find returns the side where the session lives or last lived, the home of one
// that no side knows. A side that cannot be asked is an error, unless another
// one has the session.
//
// What was once placed is asked nowhere else: a side that hangs is in the way of
// its own sessions only. ListRunning corrects the place of one that another gc
// process moved.
func (r *Router) find(ctx context.Context, name string) (*side, error) {
	if s := r.remembered(name); s != nil {
		return s, nil
	}
	home := r.home(name)
	if runtime.CheckName(name) != nil {
		return home, nil // hosted nowhere: the side says so
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
		return nil, cannotTell(name, err)
	}
	return r.ended(ctx, name, home), nil
}

// cannotTell is the error of a session whose side cannot be told.
func cannotTell(name string, err error) error {
	if errors.Is(err, runtime.ErrBackendUnreachable) {
		return fmt.Errorf("where %s lives: %w", name, err)
	}
	return fmt.Errorf("where %s lives: %w: %w", name, runtime.ErrBackendUnreachable, err)
}

// others are the sides but one in which the session runs, asked at once.
func (r *Router) others(ctx context.Context, name string, but *side) ([]*side, error) {
	sides := r.list()
	found := make([]bool, len(sides))
	errs := make([]error, len(sides))
	var asked sync.WaitGroup
	for i, s := range sides {
		if s != but {
			asked.Go(func() {
				if found[i], errs[i] = s.IsRunning(ctx, name); errs[i] != nil {
					found[i], errs[i] = false, fmt.Errorf("provider %s: %w", s.name, errs[i])
				}
			})
		}
	}
	asked.Wait()
	var have []*side
	for i, s := range sides {
		if found[i] {
			have = append(have, s)
		}
	}
	return have, errors.Join(errs...)
}

// ended is the side that still knows how a session ended, else its home.
func (r *Router) ended(ctx context.Context, name string, home *side) *side {
	for _, s := range append([]*side{home}, r.list()...) {
		if e, ok := runtime.As[runtime.ExitReporter](s.Provider); ok {
			if _, err := e.LastExit(ctx, name); err == nil {
				return s
			}
		}
	}
	return home
}

// reserve keeps a second Start of the name out, on whatever side.
func (r *Router) reserve(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.starts[name] {
		return runtime.ErrSessionExists
	}
	r.starts[name] = true
	return nil
}

func (r *Router) release(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.starts, name)
}

// elsewhere returns ErrSessionExists for a session that runs on another side
// than to, and an error when that cannot be told.
func (r *Router) elsewhere(ctx context.Context, name string, to *side) error {
	last := r.remembered(name)
	if last == to {
		return nil
	}
	if last != nil {
		running, err := last.IsRunning(ctx, name)
		if err == nil && running {
			err = fmt.Errorf("%w: it runs with provider %s", runtime.ErrSessionExists, last.name)
		}
		return err
	}
	others, err := r.others(ctx, name, to)
	if len(others) > 0 {
		return fmt.Errorf("%w: it runs with provider %s", runtime.ErrSessionExists, others[0].name)
	}
	if err != nil {
		return cannotTell(name, err)
	}
	return nil
}

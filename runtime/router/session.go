package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/runtime"
)

// Start implements runtime.Provider. The session goes to the side that cfg
// wishes, else to its home; a session of that name on another side is
// ErrSessionExists.
func (r *Router) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	to, err := r.target(name, cfg.Transport)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := r.reserve(name); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer r.release(name)
	if err := r.elsewhere(ctx, name, to); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := to.Start(ctx, name, cfg); err != nil {
		return err
	}
	r.remember(name, to)
	return nil
}

// on calls f with the side of a session.
func on[T any](ctx context.Context, r *Router, name string, f func(*side) (T, error)) (T, error) {
	s, err := r.find(ctx, name)
	if err != nil {
		var zero T
		return zero, err
	}
	return f(s)
}

// do is on for a call without an answer.
func (r *Router) do(ctx context.Context, name string, f func(*side) error) error {
	s, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	return f(s)
}

// Stop implements runtime.Provider.
func (r *Router) Stop(ctx context.Context, name string) error {
	return r.do(ctx, name, func(s *side) error { return s.Stop(ctx, name) })
}

// Interrupt implements runtime.Provider.
func (r *Router) Interrupt(ctx context.Context, name string) error {
	return r.do(ctx, name, func(s *side) error { return s.Interrupt(ctx, name) })
}

// IsRunning implements runtime.Provider.
func (r *Router) IsRunning(ctx context.Context, name string) (bool, error) {
	return on(ctx, r, name, func(s *side) (bool, error) { return s.IsRunning(ctx, name) })
}

// IsAttached implements runtime.Provider.
func (r *Router) IsAttached(ctx context.Context, name string) (bool, error) {
	return on(ctx, r, name, func(s *side) (bool, error) { return s.IsAttached(ctx, name) })
}

// Attach implements runtime.Provider.
func (r *Router) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	return r.do(ctx, name, func(s *side) error { return s.Attach(ctx, name, t) })
}

// ProcessAlive implements runtime.Provider.
func (r *Router) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	return on(ctx, r, name, func(s *side) (bool, error) { return s.ProcessAlive(ctx, name, names) })
}

// Nudge implements runtime.Provider.
func (r *Router) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return on(ctx, r, name, func(s *side) (runtime.Receipt, error) { return s.Nudge(ctx, name, content) })
}

// SendKeys implements runtime.Provider.
func (r *Router) SendKeys(ctx context.Context, name string, keys ...string) error {
	return r.do(ctx, name, func(s *side) error { return s.SendKeys(ctx, name, keys...) })
}

// Peek implements runtime.Provider.
func (r *Router) Peek(ctx context.Context, name string, lines int) (string, error) {
	return on(ctx, r, name, func(s *side) (string, error) { return s.Peek(ctx, name, lines) })
}

// ClearScrollback implements runtime.Provider.
func (r *Router) ClearScrollback(ctx context.Context, name string) error {
	return r.do(ctx, name, func(s *side) error { return s.ClearScrollback(ctx, name) })
}

// SetMeta implements runtime.Provider.
func (r *Router) SetMeta(ctx context.Context, name, key, value string) error {
	return r.do(ctx, name, func(s *side) error { return s.SetMeta(ctx, name, key, value) })
}

// GetMeta implements runtime.Provider.
func (r *Router) GetMeta(ctx context.Context, name, key string) (string, error) {
	return on(ctx, r, name, func(s *side) (string, error) { return s.GetMeta(ctx, name, key) })
}

// RemoveMeta implements runtime.Provider.
func (r *Router) RemoveMeta(ctx context.Context, name, key string) error {
	return r.do(ctx, name, func(s *side) error { return s.RemoveMeta(ctx, name, key) })
}

// GetLastActivity implements runtime.Provider.
func (r *Router) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	return on(ctx, r, name, func(s *side) (time.Time, error) { return s.GetLastActivity(ctx, name) })
}

// CopyTo implements runtime.Provider.
func (r *Router) CopyTo(ctx context.Context, name, src, relDst string) error {
	return r.do(ctx, name, func(s *side) error { return s.CopyTo(ctx, name, src, relDst) })
}

// RunLive implements runtime.Provider.
func (r *Router) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	return r.do(ctx, name, func(s *side) error { return s.RunLive(ctx, name, cfg) })
}

// ListRunning implements runtime.Provider. When a side cannot be asked, the
// names that the others gave come with the error: nothing is known about names
// that are not among them.
func (r *Router) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	sides := r.list()
	lists := make([][]string, len(sides))
	errs := make([]error, len(sides))
	var asked sync.WaitGroup
	for i, s := range sides {
		asked.Go(func() {
			if lists[i], errs[i] = s.ListRunning(ctx, prefix); errs[i] != nil {
				errs[i] = fmt.Errorf("provider %s: %w", s.name, errs[i])
			}
		})
	}
	asked.Wait()
	seen := map[string][]*side{}
	var names []string
	for i, list := range lists {
		for _, name := range list {
			seen[name] = append(seen[name], sides[i])
			names = append(names, name)
		}
	}
	r.corrected(seen)
	slices.Sort(names)
	return slices.Compact(names), errors.Join(errs...)
}

// corrected takes over where running sessions are.
func (r *Router) corrected(seen map[string][]*side) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, at := range seen {
		if !slices.Contains(at, r.placed[name]) {
			r.placed[name] = at[0]
		}
	}
}

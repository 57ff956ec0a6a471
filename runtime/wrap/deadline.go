package wrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/runtime"
)

// Deadlines are how long calls may take, below what their context allows.
// Zero values are the defaults. Start has its caller's deadline, Attach none.
type Deadlines struct {
	Query time.Duration // IsRunning, Peek, metadata …; 30 s
	Input time.Duration // Nudge, SendKeys; 60 s: a nudge waits 30 s for a dialog
	Stop  time.Duration // 60 s, and the grace of WithGrace
	Copy  time.Duration // CopyTo, RunLive; 5 min
}

// WithDeadlines returns p with a bound on every call, so that a backend that
// hangs becomes an error. Past the bound the error matches
// ErrBackendUnreachable and context.DeadlineExceeded: nothing is known then.
func WithDeadlines(p runtime.Provider, d Deadlines) runtime.Provider {
	set := func(v *time.Duration, def time.Duration) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&d.Query, 30*time.Second)
	set(&d.Input, time.Minute)
	set(&d.Stop, time.Minute)
	set(&d.Copy, 5*time.Minute)
	return &bounded{Provider: p, d: d}
}

type bounded struct {
	runtime.Provider
	d Deadlines
}

// Unwrap gives the optional interfaces of the provider inside.
func (b *bounded) Unwrap() runtime.Provider { return b.Provider }

// within runs f with the bound. Only the bound's own end becomes
// ErrBackendUnreachable.
func within[T any](ctx context.Context, d time.Duration, f func(context.Context) (T, error)) (T, error) {
	inner, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	v, err := f(inner)
	if err != nil && ctx.Err() == nil && inner.Err() != nil && !errors.Is(err, runtime.ErrBackendUnreachable) {
		err = fmt.Errorf("%w: no answer in %v: %w", runtime.ErrBackendUnreachable, d, err)
	}
	return v, err
}

func do(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	_, err := within(ctx, d, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

func (b *bounded) Stop(ctx context.Context, name string) error {
	return do(ctx, b.d.Stop+runtime.Grace(ctx, 0), func(ctx context.Context) error { return b.Provider.Stop(ctx, name) })
}

func (b *bounded) Interrupt(ctx context.Context, name string) error {
	return do(ctx, b.d.Query, func(ctx context.Context) error { return b.Provider.Interrupt(ctx, name) })
}

func (b *bounded) IsRunning(ctx context.Context, name string) (bool, error) {
	return within(ctx, b.d.Query, func(ctx context.Context) (bool, error) { return b.Provider.IsRunning(ctx, name) })
}

func (b *bounded) IsAttached(ctx context.Context, name string) (bool, error) {
	return within(ctx, b.d.Query, func(ctx context.Context) (bool, error) { return b.Provider.IsAttached(ctx, name) })
}

func (b *bounded) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	return within(ctx, b.d.Query, func(ctx context.Context) (bool, error) { return b.Provider.ProcessAlive(ctx, name, names) })
}

func (b *bounded) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return within(ctx, b.d.Input, func(ctx context.Context) (runtime.Receipt, error) { return b.Provider.Nudge(ctx, name, content) })
}

func (b *bounded) SendKeys(ctx context.Context, name string, keys ...string) error {
	return do(ctx, b.d.Input, func(ctx context.Context) error { return b.Provider.SendKeys(ctx, name, keys...) })
}

func (b *bounded) Peek(ctx context.Context, name string, lines int) (string, error) {
	return within(ctx, b.d.Query, func(ctx context.Context) (string, error) { return b.Provider.Peek(ctx, name, lines) })
}

func (b *bounded) ClearScrollback(ctx context.Context, name string) error {
	return do(ctx, b.d.Query, func(ctx context.Context) error { return b.Provider.ClearScrollback(ctx, name) })
}

func (b *bounded) SetMeta(ctx context.Context, name, key, value string) error {
	return do(ctx, b.d.Query, func(ctx context.Context) error { return b.Provider.SetMeta(ctx, name, key, value) })
}

func (b *bounded) GetMeta(ctx context.Context, name, key string) (string, error) {
	return within(ctx, b.d.Query, func(ctx context.Context) (string, error) { return b.Provider.GetMeta(ctx, name, key) })
}

func (b *bounded) RemoveMeta(ctx context.Context, name, key string) error {
	return do(ctx, b.d.Query, func(ctx context.Context) error { return b.Provider.RemoveMeta(ctx, name, key) })
}

func (b *bounded) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	return within(ctx, b.d.Query, func(ctx context.Context) ([]string, error) { return b.Provider.ListRunning(ctx, prefix) })
}

func (b *bounded) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	return within(ctx, b.d.Query, func(ctx context.Context) (time.Time, error) { return b.Provider.GetLastActivity(ctx, name) })
}

func (b *bounded) CopyTo(ctx context.Context, name, src, relDst string) error {
	return do(ctx, b.d.Copy, func(ctx context.Context) error { return b.Provider.CopyTo(ctx, name, src, relDst) })
}

func (b *bounded) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	return do(ctx, b.d.Copy, func(ctx context.Context) error { return b.Provider.RunLive(ctx, name, cfg) })
}

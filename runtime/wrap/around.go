package wrap

import (
	"context"
	"fmt"

	"gascity.dev/gc/runtime"
)

// around is one provider with every call passed through a function.
type around struct {
	Forward
	inside runtime.Provider
}

var (
	_ runtime.Provider                = (*around)(nil)
	_ runtime.Forwarder               = (*around)(nil)
	_ runtime.EventSource             = (*around)(nil)
	_ runtime.ManyActivities          = (*around)(nil)
	_ runtime.ManyProcesses           = (*around)(nil)
	_ runtime.ProcessTableScanner     = (*around)(nil)
	_ runtime.ServerLifecycleProvider = (*around)(nil)
	_ runtime.CapabilityAsker         = (*around)(nil)
)

// newAround wraps p: every call that may block, but Events, goes through run.
func newAround(p runtime.Provider, run func(ctx context.Context, c Call, do func(context.Context) error) error) *around {
	return &around{inside: p, Forward: Forward{
		Send: func(ctx context.Context, c Call, do func(context.Context, runtime.Provider) error) error {
			return run(ctx, c, func(ctx context.Context) error { return do(ctx, p) })
		},
	}}
}

// Unwrap returns the provider inside, for interfaces that wrap does not know.
func (a *around) Unwrap() runtime.Provider { return a.inside }

// Behind implements runtime.Forwarder.
func (a *around) Behind() []runtime.Provider { return []runtime.Provider{a.inside} }

func (a *around) Capabilities() runtime.Capabilities { return a.inside.Capabilities() }

func (a *around) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	return get(ctx, a.Forward, Call{Kind: Query}, func(ctx context.Context, p runtime.Provider) ([]string, error) { return p.ListRunning(ctx, prefix) })
}

// all is get for an optional interface about no single session.
func all[X, T any](ctx context.Context, a *around, kind Kind, do func(context.Context, X) (T, error)) (T, error) {
	return get(ctx, a.Forward, Call{Kind: kind}, func(ctx context.Context, p runtime.Provider) (T, error) {
		x, ok := runtime.As[X](p)
		if !ok {
			var zero T
			return zero, fmt.Errorf("%T: %w", p, runtime.ErrUnsupported)
		}
		return do(ctx, x)
	})
}

// Events lives as long as ctx: no bound would be right.
func (a *around) Events(ctx context.Context) (<-chan runtime.Event, error) {
	return all(ctx, a, Open, func(ctx context.Context, x runtime.EventSource) (<-chan runtime.Event, error) { return x.Events(ctx) })
}

func (a *around) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.ManyActivities) (map[string]runtime.SessionActivity, error) {
		return x.Activities(ctx, names)
	})
}

func (a *around) SeenAlive(ctx context.Context, names map[string][]string) ([]string, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.ManyProcesses) ([]string, error) { return x.SeenAlive(ctx, names) })
}

func (a *around) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.ProcessTableScanner) ([]runtime.LiveRuntime, error) {
		return x.FindRuntimesBySessionID(ctx, id)
	})
}

func (a *around) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	_, err := all(ctx, a, Stop, func(ctx context.Context, x runtime.ProcessTableScanner) (struct{}, error) {
		return struct{}{}, x.TerminateRuntime(ctx, r)
	})
	return err
}

func (a *around) ConfigureServer(ctx context.Context) error {
	_, err := all(ctx, a, Stop, func(ctx context.Context, x runtime.ServerLifecycleProvider) (struct{}, error) {
		return struct{}{}, x.ConfigureServer(ctx)
	})
	return err
}

func (a *around) TeardownServer(ctx context.Context) error {
	_, err := all(ctx, a, Stop, func(ctx context.Context, x runtime.ServerLifecycleProvider) (struct{}, error) {
		return struct{}{}, x.TeardownServer(ctx)
	})
	return err
}

func (a *around) AskCapabilities(ctx context.Context) (runtime.Capabilities, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.CapabilityAsker) (runtime.Capabilities, error) {
		return x.AskCapabilities(ctx)
	})
}

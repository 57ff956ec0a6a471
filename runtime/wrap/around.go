package wrap

import (
	"context"
	"fmt"

	"gascity.dev/gc/runtime"
)

// Around is one provider with every call passed through a function.
type Around struct {
	Forward
	inside runtime.Provider
}

var (
	_ runtime.Provider                = (*Around)(nil)
	_ runtime.Forwarder               = (*Around)(nil)
	_ runtime.EventSource             = (*Around)(nil)
	_ runtime.ManyActivities          = (*Around)(nil)
	_ runtime.ManyProcesses           = (*Around)(nil)
	_ runtime.ProcessTableScanner     = (*Around)(nil)
	_ runtime.ServerLifecycleProvider = (*Around)(nil)
	_ runtime.RecordingKeeper         = (*Around)(nil)
	_ runtime.CapabilityAsker         = (*Around)(nil)
)

// Through passes every call on to p. A provider that is built on another one embeds
// it, and overrides what it does differently.
func Through(p runtime.Provider) *Around {
	return newAround(p, func(ctx context.Context, _ Call, do func(context.Context) error) error { return do(ctx) })
}

// newAround wraps p: every call that may block, but Events, goes through run.
func newAround(p runtime.Provider, run func(ctx context.Context, c Call, do func(context.Context) error) error) *Around {
	return &Around{inside: p, Forward: Forward{
		Send: func(ctx context.Context, c Call, do func(context.Context, runtime.Provider) error) error {
			return run(ctx, c, func(ctx context.Context) error { return do(ctx, p) })
		},
	}}
}

// Unwrap returns the provider inside, for interfaces that wrap does not know.
func (a *Around) Unwrap() runtime.Provider { return a.inside }

// Behind implements runtime.Forwarder.
func (a *Around) Behind() []runtime.Provider { return []runtime.Provider{a.inside} }

func (a *Around) Capabilities() runtime.Capabilities { return a.inside.Capabilities() }

func (a *Around) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	return get(ctx, a.Forward, Call{Kind: Query}, func(ctx context.Context, p runtime.Provider) ([]string, error) { return p.ListRunning(ctx, prefix) })
}

// all is get for an optional interface about no single session.
func all[X, T any](ctx context.Context, a *Around, kind Kind, do func(context.Context, X) (T, error)) (T, error) {
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
func (a *Around) Events(ctx context.Context) (<-chan runtime.Event, error) {
	return all(ctx, a, Open, func(ctx context.Context, x runtime.EventSource) (<-chan runtime.Event, error) { return x.Events(ctx) })
}

func (a *Around) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.ManyActivities) (map[string]runtime.SessionActivity, error) {
		return x.Activities(ctx, names)
	})
}

func (a *Around) SeenAlive(ctx context.Context, names map[string][]string) ([]string, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.ManyProcesses) ([]string, error) { return x.SeenAlive(ctx, names) })
}

func (a *Around) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.ProcessTableScanner) ([]runtime.LiveRuntime, error) {
		return x.FindRuntimesBySessionID(ctx, id)
	})
}

func (a *Around) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	_, err := all(ctx, a, Stop, func(ctx context.Context, x runtime.ProcessTableScanner) (struct{}, error) {
		return struct{}{}, x.TerminateRuntime(ctx, r)
	})
	return err
}

func (a *Around) Recordings(ctx context.Context, key, value string) ([]runtime.Recording, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.RecordingKeeper) ([]runtime.Recording, error) {
		return x.Recordings(ctx, key, value)
	})
}

func (a *Around) DropRecording(ctx context.Context, r runtime.Recording) error {
	_, err := all(ctx, a, Query, func(ctx context.Context, x runtime.RecordingKeeper) (struct{}, error) {
		return struct{}{}, x.DropRecording(ctx, r)
	})
	return err
}

func (a *Around) ConfigureServer(ctx context.Context) error {
	_, err := all(ctx, a, Stop, func(ctx context.Context, x runtime.ServerLifecycleProvider) (struct{}, error) {
		return struct{}{}, x.ConfigureServer(ctx)
	})
	return err
}

func (a *Around) TeardownServer(ctx context.Context) error {
	_, err := all(ctx, a, Stop, func(ctx context.Context, x runtime.ServerLifecycleProvider) (struct{}, error) {
		return struct{}{}, x.TeardownServer(ctx)
	})
	return err
}

func (a *Around) AskCapabilities(ctx context.Context) (runtime.Capabilities, error) {
	return all(ctx, a, Query, func(ctx context.Context, x runtime.CapabilityAsker) (runtime.Capabilities, error) {
		return x.AskCapabilities(ctx)
	})
}

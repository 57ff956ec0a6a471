package wrap

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/runtime"
)

// Kind says what a call does to its session, and so how it is bounded and ordered.
type Kind int

// Kinds of calls.
const (
	Open  Kind = iota // takes as long as its context: Start, Attach, Exec, waits
	Query             // reads, or changes what the backend stores
	Input             // types into the session
	Stop              // ends processes
	Copy              // moves files or runs commands
)

// Call describes one call to a provider.
type Call struct {
	Kind    Kind
	Session string        // "" for a call about no single session
	Own     time.Duration // the wait that the caller asked for: a grace, a timeout
}

// Forward has every method of a provider that is about one session, those of the
// optional interfaces included, and passes each through Send. Whatever wraps or
// routes providers embeds it, overrides what it treats differently, and adds the
// methods about all sessions.
//
// If the target lacks the optional interface, the call fails with that
// interface's "unsupported" error, or with ErrSessionNotFound if no such
// session runs.
type Forward struct {
	// Send picks the target of the call and calls do with it, at most once. It
	// returns do's error, or its own.
	Send func(ctx context.Context, c Call, do func(context.Context, runtime.Provider) error) error
}

// get sends a call that returns a value.
func get[T any](ctx context.Context, f Forward, c Call, do func(context.Context, runtime.Provider) (T, error)) (T, error) {
	var answer T
	err := f.Send(ctx, c, func(ctx context.Context, p runtime.Provider) (err error) {
		answer, err = do(ctx, p)
		return err
	})
	return answer, err
}

// extended sends a call of the optional interface X. what begins the error of a
// target that lacks it.
func extended[X, T any](ctx context.Context, f Forward, c Call, what string, lacking error, do func(context.Context, X) (T, error)) (T, error) {
	return get(ctx, f, c, func(ctx context.Context, p runtime.Provider) (T, error) {
		if x, ok := runtime.As[X](p); ok {
			return do(ctx, x)
		}
		var zero T
		running, err := p.IsRunning(ctx, c.Session)
		switch named, ok := p.(fmt.Stringer); {
		case err != nil:
		case !running:
			err = runtime.ErrSessionNotFound
		case ok:
			err = fmt.Errorf("%s: %w", named, lacking)
		default:
			err = lacking
		}
		return zero, fmt.Errorf("%s %s: %w", what, c.Session, err)
	})
}

// act is extended for a call that returns only an error.
func act[X any](ctx context.Context, f Forward, c Call, what string, lacking error, do func(context.Context, X) error) error {
	_, err := extended(ctx, f, c, what, lacking, func(ctx context.Context, x X) (struct{}, error) { return struct{}{}, do(ctx, x) })
	return err
}

func (f Forward) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return f.Send(ctx, Call{Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.Start(ctx, name, cfg) })
}

func (f Forward) Stop(ctx context.Context, name string) error {
	c := Call{Kind: Stop, Session: name, Own: runtime.Grace(ctx, 0)}
	return f.Send(ctx, c, func(ctx context.Context, p runtime.Provider) error { return p.Stop(ctx, name) })
}

func (f Forward) Interrupt(ctx context.Context, name string) error {
	return f.Send(ctx, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.Interrupt(ctx, name) })
}

func (f Forward) IsRunning(ctx context.Context, name string) (bool, error) {
	return get(ctx, f, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) (bool, error) { return p.IsRunning(ctx, name) })
}

func (f Forward) IsAttached(ctx context.Context, name string) (bool, error) {
	return get(ctx, f, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) (bool, error) { return p.IsAttached(ctx, name) })
}

func (f Forward) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	return f.Send(ctx, Call{Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.Attach(ctx, name, t) })
}

func (f Forward) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	return get(ctx, f, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) (bool, error) {
		return p.ProcessAlive(ctx, name, names)
	})
}

func (f Forward) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return get(ctx, f, Call{Kind: Input, Session: name}, func(ctx context.Context, p runtime.Provider) (runtime.Receipt, error) {
		return p.Nudge(ctx, name, content)
	})
}

func (f Forward) SendKeys(ctx context.Context, name string, keys ...string) error {
	return f.Send(ctx, Call{Kind: Input, Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.SendKeys(ctx, name, keys...) })
}

func (f Forward) Peek(ctx context.Context, name string, lines int) (string, error) {
	return get(ctx, f, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) (string, error) { return p.Peek(ctx, name, lines) })
}

func (f Forward) ClearScrollback(ctx context.Context, name string) error {
	return f.Send(ctx, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.ClearScrollback(ctx, name) })
}

func (f Forward) SetMeta(ctx context.Context, name, key, value string) error {
	return f.Send(ctx, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.SetMeta(ctx, name, key, value) })
}

func (f Forward) GetMeta(ctx context.Context, name, key string) (string, error) {
	return get(ctx, f, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) (string, error) { return p.GetMeta(ctx, name, key) })
}

func (f Forward) RemoveMeta(ctx context.Context, name, key string) error {
	return f.Send(ctx, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.RemoveMeta(ctx, name, key) })
}

func (f Forward) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	return get(ctx, f, Call{Kind: Query, Session: name}, func(ctx context.Context, p runtime.Provider) (time.Time, error) {
		return p.GetLastActivity(ctx, name)
	})
}

func (f Forward) CopyTo(ctx context.Context, name, src, relDst string) error {
	return f.Send(ctx, Call{Kind: Copy, Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.CopyTo(ctx, name, src, relDst) })
}

func (f Forward) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	return f.Send(ctx, Call{Kind: Copy, Session: name}, func(ctx context.Context, p runtime.Provider) error { return p.RunLive(ctx, name, cfg) })
}

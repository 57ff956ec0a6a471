package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"gascity.dev/gc/runtime"
)

var (
	_ runtime.EventSource                   = (*Router)(nil)
	_ runtime.ExitReporter                  = (*Router)(nil)
	_ runtime.Waiter                        = (*Router)(nil)
	_ runtime.RelaunchProvider              = (*Router)(nil)
	_ runtime.IdleWaitProvider              = (*Router)(nil)
	_ runtime.ImmediateNudgeProvider        = (*Router)(nil)
	_ runtime.ExecProvider                  = (*Router)(nil)
	_ runtime.DialogProvider                = (*Router)(nil)
	_ runtime.StartupProvider               = (*Router)(nil)
	_ runtime.ProcessTableScanner           = (*Router)(nil)
	_ runtime.ServerLifecycleProvider       = (*Router)(nil)
	_ runtime.ActivityProvider              = (*Router)(nil)
	_ runtime.ManyActivities                = (*Router)(nil)
	_ runtime.ManyProcesses                 = (*Router)(nil)
	_ runtime.InteractionProvider           = (*Router)(nil)
	_ runtime.SeenProvider                  = (*Router)(nil)
	_ runtime.InterruptedTurnResetProvider  = (*Router)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*Router)(nil)
	_ runtime.TransportCapabilityProvider   = (*Router)(nil)
)

// extended calls f with the extension of a session's side. A side without it
// answers with lacking; a missing session is ErrSessionNotFound before that.
func extended[X, T any](ctx context.Context, r *Router, name, what string, lacking error, f func(X) (T, error)) (T, error) {
	var zero T
	s, err := r.find(ctx, name)
	if err != nil {
		return zero, fmt.Errorf("%s %s: %w", what, name, err)
	}
	x, ok := runtime.As[X](s.Provider)
	if ok {
		return f(x)
	}
	running, err := s.IsRunning(ctx, name)
	switch {
	case err != nil:
		return zero, fmt.Errorf("%s %s: %w", what, name, err)
	case !running:
		return zero, fmt.Errorf("%s %s: %w", what, name, runtime.ErrSessionNotFound)
	}
	return zero, fmt.Errorf("%s %s: provider %s: %w", what, name, s.name, lacking)
}

// acts is extended for a call without an answer.
func acts[X any](ctx context.Context, r *Router, name, what string, lacking error, f func(X) error) error {
	_, err := extended(ctx, r, name, what, lacking, func(x X) (struct{}, error) { return struct{}{}, f(x) })
	return err
}

// LastExit implements runtime.ExitReporter.
func (r *Router) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	return extended(ctx, r, name, "exit of", runtime.ErrUnsupported, func(x runtime.ExitReporter) (*runtime.Exit, error) {
		return x.LastExit(ctx, name)
	})
}

// WaitFor implements runtime.Waiter.
func (r *Router) WaitFor(ctx context.Context, name string, any []runtime.Condition) (int, error) {
	return extended(ctx, r, name, "wait for", runtime.ErrUnsupported, func(x runtime.Waiter) (int, error) {
		return x.WaitFor(ctx, name, any)
	})
}

// Relaunch implements runtime.RelaunchProvider.
func (r *Router) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	return acts(ctx, r, name, "relaunch", runtime.ErrRelaunchUnsupported, func(x runtime.RelaunchProvider) error {
		return x.Relaunch(ctx, name, cfg)
	})
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (r *Router) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	return acts(ctx, r, name, "idle", runtime.ErrUnsupported, func(x runtime.IdleWaitProvider) error {
		return x.WaitForIdle(ctx, name, timeout)
	})
}

// NudgeNow implements runtime.ImmediateNudgeProvider.
func (r *Router) NudgeNow(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return extended(ctx, r, name, "nudge", runtime.ErrUnsupported, func(x runtime.ImmediateNudgeProvider) (runtime.Receipt, error) {
		return x.NudgeNow(ctx, name, content)
	})
}

// Exec implements runtime.ExecProvider.
func (r *Router) Exec(ctx context.Context, name string, argv []string) ([]byte, int, error) {
	code := 0
	out, err := extended(ctx, r, name, "exec in", runtime.ErrExecUnsupported, func(x runtime.ExecProvider) (out []byte, err error) {
		out, code, err = x.Exec(ctx, name, argv)
		return out, err
	})
	return out, code, err
}

// DismissKnownDialogs implements runtime.DialogProvider.
func (r *Router) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	return acts(ctx, r, name, "dialogs of", runtime.ErrUnsupported, func(x runtime.DialogProvider) error {
		return x.DismissKnownDialogs(ctx, name, timeout)
	})
}

// AwaitFirstIdle implements runtime.StartupProvider.
func (r *Router) AwaitFirstIdle(ctx context.Context, name string, cfg runtime.Config) error {
	return acts(ctx, r, name, "first idle of", runtime.ErrUnsupported, func(x runtime.StartupProvider) error {
		return x.AwaitFirstIdle(ctx, name, cfg)
	})
}

// Pending implements runtime.InteractionProvider.
func (r *Router) Pending(ctx context.Context, name string) (*runtime.Interaction, error) {
	return extended(ctx, r, name, "question of", runtime.ErrInteractionUnsupported, func(x runtime.InteractionProvider) (*runtime.Interaction, error) {
		return x.Pending(ctx, name)
	})
}

// Respond implements runtime.InteractionProvider.
func (r *Router) Respond(ctx context.Context, name string, a runtime.Answer) error {
	return acts(ctx, r, name, "answer", runtime.ErrInteractionUnsupported, func(x runtime.InteractionProvider) error {
		return x.Respond(ctx, name, a)
	})
}

// Seen implements runtime.SeenProvider.
func (r *Router) Seen(ctx context.Context, name string) error {
	return acts(ctx, r, name, "seen", runtime.ErrUnsupported, func(x runtime.SeenProvider) error { return x.Seen(ctx, name) })
}

// ResetInterruptedTurn implements runtime.InterruptedTurnResetProvider.
func (r *Router) ResetInterruptedTurn(ctx context.Context, name string) error {
	return acts(ctx, r, name, "reset", runtime.ErrUnsupported, func(x runtime.InterruptedTurnResetProvider) error {
		return x.ResetInterruptedTurn(ctx, name)
	})
}

// WaitForInterruptBoundary implements runtime.InterruptBoundaryWaitProvider.
func (r *Router) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	return acts(ctx, r, name, "interrupt of", runtime.ErrUnsupported, func(x runtime.InterruptBoundaryWaitProvider) error {
		return x.WaitForInterruptBoundary(ctx, name, since, timeout)
	})
}

// errNoEvidence stands for a side that never tells what an agent does.
var errNoEvidence = errors.New("no evidence")

// Activity implements runtime.ActivityProvider. A side without it has no
// evidence.
func (r *Router) Activity(ctx context.Context, name string) (runtime.Activity, error) {
	a, err := extended(ctx, r, name, "activity of", errNoEvidence, func(x runtime.ActivityProvider) (runtime.Activity, error) {
		return x.Activity(ctx, name)
	})
	if errors.Is(err, errNoEvidence) {
		return runtime.Activity{State: runtime.ActivityUnknown}, nil
	}
	return a, err
}

// Activities implements runtime.ManyActivities for the sessions of the sides
// that have it; others are left out.
func (r *Router) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	of := map[*side][]string{}
	var errs []error
	for _, name := range names {
		s, err := r.find(ctx, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("activity of %s: %w", name, err))
			continue
		}
		of[s] = append(of[s], name)
	}
	out := make(map[string]runtime.SessionActivity, len(names))
	for s, list := range of {
		many, ok := runtime.As[runtime.ManyActivities](s.Provider)
		if !ok {
			continue
		}
		found, err := many.Activities(ctx, list)
		errs = append(errs, err)
		maps.Copy(out, found)
	}
	return out, errors.Join(errs...)
}

// SeenAlive implements runtime.ManyProcesses for the sessions of the sides that
// have it.
func (r *Router) SeenAlive(ctx context.Context, names map[string][]string) ([]string, error) {
	of := map[*side]map[string][]string{}
	var errs []error
	for name, list := range names {
		s, err := r.find(ctx, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("processes of %s: %w", name, err))
			continue
		}
		if of[s] == nil {
			of[s] = map[string][]string{}
		}
		of[s][name] = list
	}
	var alive []string
	for s, some := range of {
		many, ok := runtime.As[runtime.ManyProcesses](s.Provider)
		if !ok {
			continue
		}
		seen, err := many.SeenAlive(ctx, some)
		errs = append(errs, err)
		alive = append(alive, seen...)
	}
	return alive, errors.Join(errs...)
}

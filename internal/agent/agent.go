// Package agent binds an agent's identity to the session that runs it.
//
// Its one invariant: a session name is made here and nowhere else, and the same
// identity always gives the same name. It serves the controller and the command
// line, which see agents and never backends.
package agent

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/runtime"
)

// Agent is all that higher code sees of a running agent. It is safe for
// concurrent use.
type Agent interface {
	// Name is the qualified name, SessionName the name of its session.
	Name() string
	SessionName() string

	// IsRunning reports both layers: the session exists and one of its process
	// names is alive in it. An error means that it cannot be told.
	IsRunning(ctx context.Context) (bool, error)

	// Start, Stop, Attach, Nudge and Peek are those of [runtime.Provider] for
	// this agent's session. Start makes a new incarnation.
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Attach(ctx context.Context, t runtime.Terminal) error
	Nudge(ctx context.Context, content []runtime.ContentBlock) (runtime.Receipt, error)
	Peek(ctx context.Context, lines int) (string, error)

	// SessionConfig is what the next Start runs, but for the incarnation's own
	// variables and the prompt.
	SessionConfig() runtime.Config
}

// Bound is an [Agent] of a spec on a provider.
type Bound struct {
	Spec     *Spec
	Provider runtime.Provider
}

var _ Agent = (*Bound)(nil)

// Bind makes the agent of a spec.
func Bind(s *Spec, p runtime.Provider) *Bound { return &Bound{Spec: s, Provider: p} }

// Name implements [Agent].
func (b *Bound) Name() string { return b.Spec.Name() }

// SessionName implements [Agent].
func (b *Bound) SessionName() string { return b.Spec.Session }

// SessionConfig implements [Agent].
func (b *Bound) SessionConfig() runtime.Config { return b.Spec.Config }

// IsRunning implements [Agent].
func (b *Bound) IsRunning(ctx context.Context) (bool, error) {
	l, err := runtime.ObserveLiveness(ctx, b.Provider, b.Spec.Session, b.Spec.Config.ProcessNames)
	return l == runtime.Alive, err
}

// Start implements [Agent].
func (b *Bound) Start(ctx context.Context) error {
	inst := NewInstance(1, time.Now())
	cfg, err := b.Spec.StartConfig(inst)
	if err != nil {
		return fmt.Errorf("start %s: %w", b.Name(), err)
	}
	if err := b.Provider.Start(ctx, b.Spec.Session, cfg); err != nil {
		return err
	}
	return b.Spec.Mark(ctx, b.Provider, inst)
}

// Stop implements [Agent].
func (b *Bound) Stop(ctx context.Context) error { return b.Provider.Stop(ctx, b.Spec.Session) }

// Attach implements [Agent].
func (b *Bound) Attach(ctx context.Context, t runtime.Terminal) error {
	return b.Provider.Attach(ctx, b.Spec.Session, t)
}

// Nudge implements [Agent].
func (b *Bound) Nudge(ctx context.Context, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return b.Provider.Nudge(ctx, b.Spec.Session, content)
}

// Peek implements [Agent].
func (b *Bound) Peek(ctx context.Context, lines int) (string, error) {
	return b.Provider.Peek(ctx, b.Spec.Session, lines)
}

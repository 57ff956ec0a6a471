package wrap

import (
	"context"
	"time"

	"gascity.dev/gc/runtime"
)

// The optional interfaces of providers whose nudges reach a program.
var (
	_ runtime.InterruptedTurnResetProvider  = Forward{}
	_ runtime.InterruptBoundaryWaitProvider = Forward{}
)

func (f Forward) ResetInterruptedTurn(ctx context.Context, name string) error {
	return act(ctx, f, Call{Kind: Query, Session: name}, "reset", runtime.ErrUnsupported, func(ctx context.Context, x runtime.InterruptedTurnResetProvider) error {
		return x.ResetInterruptedTurn(ctx, name)
	})
}

func (f Forward) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	return act(ctx, f, Call{Kind: Query, Session: name, Own: timeout}, "interrupt of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.InterruptBoundaryWaitProvider) error {
		return x.WaitForInterruptBoundary(ctx, name, since, timeout)
	})
}

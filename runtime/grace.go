package runtime

import (
	"context"
	"time"
)

type graceKey struct{}

// WithGrace returns a context in which Stop waits at most d between TERM and HUP to
// a session's processes and KILL; with d ≤ 0 it sends KILL at once. By default the
// provider's own grace applies. A backend that stops sessions with its own command
// (exec) may ignore it.
func WithGrace(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, graceKey{}, max(d, 0))
}

// Grace returns the grace that [WithGrace] set, or own.
func Grace(ctx context.Context, own time.Duration) time.Duration {
	if d, ok := ctx.Value(graceKey{}).(time.Duration); ok {
		return d
	}
	return own
}

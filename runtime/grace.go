package runtime

import (
	"context"
	"time"
)

type graceKey struct{}

// WithGrace returns a context in which Stop waits at most d between asking a
// session's processes to end (TERM, HUP) and KILL. With d ≤ 0 KILL comes at
// once. Without it the provider's own grace holds. A backend that stops sessions
// by a command of its own (exec) may ignore it.
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

package wrap

import (
	"context"
	"fmt"

	"gascity.dev/gc/internal/turn"
	"gascity.dev/gc/runtime"
)

// InOrder returns p with one more promise: input of one session (nudges, keys,
// answers) is delivered one call at a time, in the order of the calls. A backend
// that keeps the order itself (Capabilities.Ordered) is left alone. A call whose
// context ends before its turn delivers nothing.
func InOrder(p runtime.Provider) runtime.Provider {
	var q turn.Queues
	return newAround(p, func(ctx context.Context, c Call, do func(context.Context) error) error {
		// Capabilities are asked for at the first input: that may take a call.
		if c.Kind != Input || p.Capabilities().Ordered {
			return do(ctx)
		}
		release, err := q.Enter(ctx, c.Session)
		if err != nil {
			return fmt.Errorf("input of %s: waiting for earlier input: %w", c.Session, err)
		}
		defer release()
		return do(ctx)
	})
}

package wrap

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gascity.dev/gc/runtime"
)

// Deadlines are how long calls may take, below what their context allows. Zero
// values are the defaults. A wait that the caller asks for (a grace, a timeout)
// comes on top. Start, Attach, Exec, Events and waits for a condition have only
// their context.
type Deadlines struct {
	Query time.Duration // IsRunning, Peek, metadata, activity …; 30 s
	Input time.Duration // Nudge, SendKeys, Respond; 60 s: a nudge waits 30 s for a dialog
	Stop  time.Duration // Stop, and ending stray processes or the server; 60 s
	Copy  time.Duration // CopyTo, RunLive; 5 min
}

// WithDeadlines returns p with a bound on every call, so that a backend that
// hangs becomes an error. Past the bound the error matches
// runtime.ErrBackendUnreachable and context.DeadlineExceeded: nothing is known then.
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
	return newAround(p, d.run)
}

// run calls do with the bound of the call. Only the bound's own end becomes
// ErrBackendUnreachable.
func (d Deadlines) run(ctx context.Context, c Call, do func(context.Context) error) error {
	bound := [...]time.Duration{Open: 0, Query: d.Query, Input: d.Input, Stop: d.Stop, Copy: d.Copy}[c.Kind]
	if bound <= 0 || c.Own > math.MaxInt64-bound {
		return do(ctx)
	}
	bound += max(c.Own, 0)
	inner, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err := do(inner)
	if err != nil && ctx.Err() == nil && inner.Err() != nil && !errors.Is(err, runtime.ErrBackendUnreachable) {
		return fmt.Errorf("%w: no answer in %v: %w", runtime.ErrBackendUnreachable, bound, err)
	}
	return err
}

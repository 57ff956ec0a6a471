// Package query asks a session provider about its sessions, each question with a deadline.
//
// It changes nothing, except that an [Agent] types what a delivery asks it to. It knows no
// city and no records. The controller and its packages call it.
package query

import (
	"context"
	"errors"
	"time"

	"gascity.dev/gc/runtime"
)

// timeout is for one question to a backend.
const timeout = 10 * time.Second

// Ask calls fn with the deadline of one question.
func Ask[T any](ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return fn(ctx)
}

// ActivityOf returns what a session is doing; unknown if its provider cannot say.
func ActivityOf(ctx context.Context, p runtime.Provider, name string) (runtime.SessionActivity, error) {
	a := runtime.SessionActivity{Activity: runtime.Activity{State: runtime.ActivityUnknown}}
	var err error
	if can, e := runtime.CapabilitiesFor(ctx, p, name); e == nil && can.Activity {
		if a.Last, err = p.GetLastActivity(ctx, name); err != nil {
			return a, err
		}
	}
	w, ok := runtime.As[runtime.ActivityProvider](p)
	if !ok {
		return a, nil
	}
	if a.Activity, err = w.Activity(ctx, name); errors.Is(err, runtime.ErrUnsupported) {
		a.Activity, err = runtime.Activity{State: runtime.ActivityUnknown}, nil
	}
	a.Sources = nil
	return a, err
}

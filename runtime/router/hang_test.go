package router_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/runtimefake"
)

// crowd answers about many sessions at once. Like a backend that answers every call by its
// deadline, it says nothing to a caller whose time is over.
type crowd struct {
	*runtimefake.Fake
	hangs bool
}

func (c crowd) Unwrap() runtime.Provider { return c.Fake }

func (c crowd) answer(ctx context.Context) error {
	if c.hangs {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (c crowd) SeenAlive(ctx context.Context, names map[string][]string) (seen []string, err error) {
	if err := c.answer(ctx); err != nil {
		return nil, err
	}
	for name := range names {
		seen = append(seen, name)
	}
	return seen, nil
}

func (c crowd) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	if err := c.answer(ctx); err != nil {
		return nil, err
	}
	out := map[string]runtime.SessionActivity{}
	for _, name := range names {
		out[name] = runtime.SessionActivity{}
	}
	return out, nil
}

// A backend that hangs takes the answer about its own sessions only.
func TestOneHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		r, err := router.Auto(func(name string) (runtime.Provider, error) {
			names = append(names, name)
			return crowd{runtimefake.New(), name != "here"}, nil
		}, "here", "1", "2", "3", "4", "5")
		if err != nil {
			t.Fatal(err)
		}
		ask := map[string][]string{}
		for _, name := range names {
			start(t, r, "at-"+name, name)
			ask["at-"+name] = []string{"sh"}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if seen, err := r.SeenAlive(ctx, ask); len(seen) != 1 || seen[0] != "at-here" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("alive: %q, %v", seen, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		all := []string{"at-here", "at-1", "at-2", "at-3", "at-4", "at-5"}
		if found, err := r.Activities(ctx, all); len(found) != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("activities: %v, %v", found, err)
		}
	})
}

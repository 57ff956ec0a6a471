package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// inspect probes one session that is known to be running or not.
func inspect(ctx context.Context, p runtime.Provider, env *environment, q probe, running bool) probeResult {
	a := probeResult{probe: q, presence: plan.Gone}
	if !running {
		if q.wasUp {
			a.exit, a.screen = lastWords(ctx, p, q.session)
			a.neverRan = neverRan(ctx, p, q, a.exit)
			a.exit = orRebooted(ctx, p, q, a.exit)
		}
		return a
	}
	a.presence = plan.Alive
	if len(q.names) > 0 && !q.seen {
		live, err := liveness(ctx, p, q)
		if err != nil {
			a.err = err
			return a
		}
		switch live {
		case runtime.Gone:
			return inspect(ctx, p, env, q, false)
		case runtime.Zombie:
			a.presence = plan.Zombie
		}
	}
	if a.err = a.details(ctx, p); a.err != nil || !q.meta {
		return a
	}
	switch path := a.meta[agent.MetaCityPath]; {
	case path == "":
		a.err = a.byEnvironment(ctx, p, env)
	case path == env.was:
		a.meta[agent.MetaCityPath], a.moved = env.city, true
	}
	return a
}

// liveness asks about the process of a listed session; only if it is gone is the
// session asked for again.
func liveness(ctx context.Context, p runtime.Provider, q probe) (runtime.Liveness, error) {
	return query.Ask(ctx, func(ctx context.Context) (runtime.Liveness, error) {
		if alive, err := p.ProcessAlive(ctx, q.session, q.names); err == nil && alive {
			return runtime.Alive, nil
		}
		return runtime.ObserveLiveness(ctx, p, q.session, q.names)
	})
}

// details asks the optional questions.
func (a *probeResult) details(ctx context.Context, p runtime.Provider) error {
	keys := identityKeys[:0:0]
	if a.probe.meta {
		keys = identityKeys[:]
	} else if a.drain {
		keys = drainKeys[:]
	}
	if len(keys) > 0 {
		a.meta = make(map[string]string, len(keys))
	}
	for _, k := range keys {
		v, err := query.Ask(ctx, func(ctx context.Context) (string, error) { return p.GetMeta(ctx, a.session, k) })
		if err != nil {
			return err
		}
		a.meta[k] = v
	}
	var err error
	if a.attach {
		if a.attached, err = query.Ask(ctx, func(ctx context.Context) (bool, error) { return p.IsAttached(ctx, a.session) }); err != nil {
			return err
		}
	}
	if a.active {
		activity, e := query.Ask(ctx, func(ctx context.Context) (runtime.SessionActivity, error) { return query.ActivityOf(ctx, p, a.session) })
		a.activity, err = activity.Last, e
		a.working = activity.Busy()
	}
	return err
}

// lastWords returns how a session ended and its last screen, as far as the
// backend keeps them.
func lastWords(ctx context.Context, p runtime.Provider, name string) (*runtime.Exit, string) {
	var exit *runtime.Exit
	var screen string
	together(func() {
		if r, ok := runtime.As[runtime.ExitReporter](p); ok {
			if e, err := query.Ask(ctx, func(ctx context.Context) (*runtime.Exit, error) { return r.LastExit(ctx, name) }); err == nil {
				exit = e
			}
		}
	}, func() {
		if text, err := query.Ask(ctx, func(ctx context.Context) (string, error) { return p.Peek(ctx, name, screenLines) }); err == nil {
			screen = text
		}
	})
	return exit, screen
}

// bootOf identifies the current boot of a session's machine; "" if unknown.
func bootOf(ctx context.Context, p runtime.Provider, name string) string {
	b, ok, err := runtime.AsFor[runtime.Booter](ctx, p, name)
	if !ok || err != nil {
		return ""
	}
	id, err := query.Ask(ctx, func(ctx context.Context) (string, error) { return b.Boot(ctx, name) })
	if err != nil {
		return ""
	}
	return id
}

// orRebooted returns exit, or if that is unknown, a reboot of the machine since the start.
func orRebooted(ctx context.Context, p runtime.Provider, q probe, exit *runtime.Exit) *runtime.Exit {
	if exit != nil && exit.Reason != runtime.ReasonUnknown || q.boot == "" {
		return exit
	}
	if now := bootOf(ctx, p, q.session); now == "" || now == q.boot {
		return exit
	}
	return &runtime.Exit{Code: -1, Reason: runtime.ReasonRebooted, Time: q.at}
}

// together calls all functions at once and waits for them.
func together(fns ...func()) {
	var wg sync.WaitGroup
	for _, fn := range fns[1:] {
		wg.Go(fn)
	}
	fns[0]()
	wg.Wait()
}

// keptExits is how long every backend that reports exits keeps them at least.
const keptExits = 30 * time.Minute

// neverRan reports whether a recorded start certainly made no session: the
// backend keeps exits and has none that is later.
func neverRan(ctx context.Context, p runtime.Provider, q probe, exit *runtime.Exit) bool {
	r, ok := runtime.As[runtime.ExitReporter](p)
	if !ok || q.ownProvider || q.startedAt.IsZero() || q.at.Sub(q.startedAt) > keptExits || q.startedAt.After(q.at) {
		return false
	}
	if exit != nil {
		return exit.Time.Before(q.startedAt)
	}
	_, err := query.Ask(ctx, func(ctx context.Context) (*runtime.Exit, error) { return r.LastExit(ctx, q.session) })
	return errors.Is(err, runtime.ErrSessionNotFound)
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// waitTargets are the named targets; without names, all that run.
func (a *app) waitTargets(ctx context.Context, s scope, names []string) ([]*target, error) {
	if len(names) == 0 {
		var err error
		if names, err = a.runningNames(ctx, s); err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, cli.Fail(cli.ExitNotFound, "", "no %s is running", s.word)
		}
	}
	var all []*target
	for _, name := range names {
		t, err := s.target(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// runningNames are the running agents of the city, or the running sessions.
func (a *app) runningNames(ctx context.Context, s scope) ([]string, error) {
	if s.path != cli.Program {
		p, err := a.sessionProvider()
		if err != nil {
			return nil, err
		}
		return p.ListRunning(ctx, "")
	}
	status, err := cityStatus(ctx, a)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, ag := range status.Agents {
		if ag.State == cityapi.StateRunning {
			names = append(names, ag.Name)
		}
	}
	return names, nil
}

// waited is the result of the wait for one of several targets.
type waited struct {
	t   *target
	met int
	err error
}

// runWaitMany waits for the first of several targets, or for each of them.
func runWaitMany(ctx context.Context, a *app, targets []*target, o waitOptions) error {
	conditions, err := o.conditions()
	if err != nil {
		return err
	}
	limited, cancel := context.WithCancel(ctx)
	if o.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, o.timeout)
	}
	ends := make(chan waited)
	for _, t := range targets {
		go func() {
			met, err := waitOne(limited, t, conditions)
			ends <- waited{t, met, err}
		}()
	}
	open := len(targets)
	defer func() { // wait for every goroutine
		cancel()
		for ; open > 0; open-- {
			<-ends
		}
	}()
	var failed error
	for open > 0 {
		w := <-ends
		open--
		switch {
		case w.err == nil:
			err := a.printMet(ctx, w.t, o, w.met, true)
			if status := cli.Quiet(0); !o.each || err != nil && !errors.As(err, &status) {
				return err
			}
			failed = cmp.Or(failed, err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			one := waitFailed(ctx, w.t, o, w.err)
			if o.each || errors.Is(w.err, context.DeadlineExceeded) {
				return manyFailed(targets, o, w.err, one)
			}
			a.Warn("%v", one)
			failed = cli.Quiet(cli.ExitFailure)
		}
	}
	return failed
}

// manyFailed is the error of a wait for several targets: that of one of them, or
// the timeout.
func manyFailed(targets []*target, o waitOptions, err, one error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return one
	}
	return cli.Fail(cli.ExitTimeout, "gc status shows them", "%s of %s did not happen within %v",
		strings.Join(o.until, ", "), display.Count(len(targets), "session"), o.timeout)
}

// waitOne waits for one of several targets.
func waitOne(ctx context.Context, t *target, conditions []runtime.Condition) (met int, err error) {
	w, ok, err := runtime.AsFor[runtime.Waiter](ctx, t.provider, t.session)
	switch {
	case err != nil:
		return 0, err
	case ok:
		return w.WaitFor(ctx, t.session, conditions)
	case len(conditions) > 1 || !conditions[0].Idle:
		return 0, fmt.Errorf("wait for %s: %w", t.label, runtime.ErrUnsupported)
	}
	p, ok, err := runtime.AsFor[runtime.IdleWaitProvider](ctx, t.provider, t.session)
	if err == nil && !ok {
		err = fmt.Errorf("wait for %s: %w", t.label, runtime.ErrUnsupported)
	}
	if err != nil {
		return 0, err
	}
	return 0, p.WaitForIdle(ctx, t.session, forEver)
}

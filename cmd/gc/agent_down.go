package main

import (
	"context"
	"errors"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime"
)

// agentDown puts the agent and the next step in the place of an error that only
// says that there is no session of its name.
func (a *app) agentDown(ctx context.Context, err error) error {
	if a.agent == nil || !errors.Is(err, runtime.ErrSessionNotFound) && !errors.Is(err, mux.ErrNotFound) {
		return err
	}
	var f *failure
	if errors.As(err, &f) {
		return err // it says it already
	}
	ag := a.statusOf(ctx, a.agent)
	if ag == nil {
		return fail(exitNotFound, "gc start", "agent %s is not running", a.agent.label)
	}
	if ag.State == cityapi.StateRunning {
		return fail(exitCannotTell, "gc doctor; GC_MUX_SOCKET and XDG_STATE_HOME must be those of gc start",
			"the controller says that agent %s runs, but its session is not found from here", ag.Name)
	}
	hint := "gc restart " + ag.Name
	switch {
	case ag.SuspendedBy != "":
		_, hint = suspendedText(*ag)
	case ag.State == cityapi.StateStarting || ag.WaitsFor != "":
		hint = "gc status --watch"
	case ag.Hint != "":
		hint = ag.Hint
	}
	return fail(exitNotFound, hint, "agent %s is not running: %s", ag.Name, stateText(*ag))
}

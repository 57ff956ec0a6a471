// Package controller keeps a city as its config wants it: it starts, restarts,
// drains and stops agents, one controller per city.
//
// Its one invariant: unknown is not dead. What to do is decided by the pure
// package plan from what was positively seen; an error of a backend changes
// nothing. It serves the command line, the API and CI runs.
package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// Options are what a controller runs with. City and Provider are required.
type Options struct {
	City     *config.City
	Provider runtime.Provider
	// ProviderName is the provider as GC_SESSION spells it, for the status.
	ProviderName string
	Build        agent.BuildOptions

	// Steps is called once, before anything is started, with who wants to be told
	// of the steps of starts; nil = nobody tells.
	Steps func(told func(runtime.Step))

	// Trusted returns why a changed city must not run its commands; nil = it may.
	Trusted func(*config.City) error

	// Claims is the folder where the cities of this user note which session names
	// are theirs; "" = nowhere.
	Claims string

	// Background tells of background commands whose owners sleep, or live with
	// another provider than the multiplexer; nil = their ends wait.
	Background Background

	Log io.Writer // one line per thing that happened; nil = nowhere
	// Event is called for every event, instead of a line in the log, from Run's
	// own goroutine: it must not block. nil = nobody asks.
	Event func(api.Event)

	// Ready is called once, from Run's own goroutine, when the first reconcile
	// is done and the socket answers.
	Ready func(api.Status)

	Once         bool // return after the first reconcile; the agents stay
	StopOnCancel bool // when ctx ends, stop the city as gc stop would
	// Kill, when it is closed, makes a stop of the city kill what still runs;
	// nil = never.
	Kill    <-chan struct{}
	Until   Until
	Timeout time.Duration // with Until: then ErrTimeout; 0 = none
	// With Until, an agent that is blocked this long, with no terminal attached,
	// ends the run with a *BlockedError; 0 = never. FailOnBlocked: at once.
	BlockedTimeout time.Duration
	FailOnBlocked  bool

	// At the end of an Until, while the sessions are still there:
	Artifacts string                                  // a folder to fill, "" = none
	Record    Recorder                                // for the artifacts; nil = no recordings
	Settled   func(context.Context, api.Status) error // called last; may be nil
}

// Until ends a run by itself.
type Until string

// When a run ends.
const (
	UntilStopped Until = ""     // by gc stop
	UntilDone    Until = "done" // every one_shot agent has ended
	UntilIdle    Until = "idle" // every agent is idle, or has ended
)

// Run takes the city's lock and controls it until ctx ends, a client says stop,
// or Once or Until is fulfilled. ErrControllerRunning when somebody holds the
// lock. Agents stay when Run returns, except after a stop, and with
// StopOnCancel. An Until ends with nil, a *FailedError, a
// *BlockedError or ErrTimeout.
func Run(ctx context.Context, o Options) (err error) {
	if err := checkUntil(o.Until); err != nil {
		return err
	}
	if _, err := agent.Build(o.City, o.Build); err != nil { // before anything is made
		return err
	}
	lk, err := api.TakeLock(o.City.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lk.Close()) }()
	if err := reconcileNames(ctx, o.City, o.Provider, o.Claims, o.Build); err != nil {
		return err
	}
	specs, err := agent.Build(o.City, o.Build)
	if err != nil {
		return err
	}
	l, err := newLoop(o, specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.store.Close()) }()
	srv, err := api.Serve(o.City.Dir, l.calls)
	if err != nil {
		return err
	}
	defer srv.Close()
	if w, err := watch(l, o.City.Dir); err == nil {
		defer w.close()
	} else {
		l.logf("changes of %s are not followed: %v", o.City.File, err)
	}
	return l.run(ctx)
}

func checkUntil(u Until) error {
	switch u {
	case UntilStopped, UntilDone, UntilIdle:
		return nil
	}
	return fmt.Errorf("--until %s: only done and idle are known", u)
}

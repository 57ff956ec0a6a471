// Package controller keeps a city as its config wants it: it starts, restarts,
// drains and stops agents. Each city has one controller.
//
// Its invariant: unknown is not dead. Package plan decides what to do from what
// was positively observed; an error of a backend changes nothing. It serves the
// command line and CI runs; clients use package api.
package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/names"
	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/runtime"
)

// Options are what a controller runs with. City and Provider are required.
type Options struct {
	City     *config.City
	Provider runtime.Provider
	// ProviderName is the provider in the spelling of GC_SESSION, for the
	// status.
	ProviderName string
	Build        agent.BuildOptions

	// Steps is called once, before the first start, with the function that
	// receives the steps of starts; nil = no steps are reported.
	Steps func(report func(runtime.Step))

	// Trusted returns why a changed city must not run its commands; nil = all
	// are trusted.
	Trusted func(*config.City) error

	// Claims is the folder in which the cities of this user record which session
	// names are theirs; "" = none.
	Claims string

	// Background reports background commands whose owners are idle-stopped or
	// hosted by another provider; nil = their ends wait.
	Background Background

	// Outboxes returns the outboxes of the other machines that have sessions of a city:
	// what programs there say to it. It is called from Run's own goroutine, first with City
	// and again after each change of the config. A machine that stays must be the same
	// value. nil = no other machine has any.
	Outboxes func(*config.City) []outbox.Outbox

	// FollowOutboxes calls changed whenever Outboxes would return others, until ctx ends.
	// nil = only a change of the config does that.
	FollowOutboxes func(ctx context.Context, changed func())

	// Place names where on another machine's host a session is, such as its pod, for people:
	// a host as in api.AgentStatus, more precise. It answers from memory. May be nil.
	Place func(host, session string) string

	// HostStream returns what serves a connection with another machine, over the stream
	// that is held to it; nil: none is. May be nil.
	HostStream func(host string) func(ctx context.Context, rw io.ReadWriteCloser) error

	// Fleet makes the handler of the paths below /v1/city of the city's socket, until ctx
	// ends; end releases what it holds. nil = none is served.
	Fleet func(ctx context.Context) (h http.Handler, end func())

	Log io.Writer // one line per event; nil = none
	// Event is called for every event, in place of a line in the log, from Run's
	// own goroutine: it must not block. May be nil.
	Event func(api.Event)

	// Ready is called once, from Run's own goroutine, when the first reconcile
	// is done and the socket answers.
	Ready func(api.Status)

	Once         bool // return after the first reconcile; the agents keep running
	StopOnCancel bool // when ctx ends, stop the city as gc stop would
	// Closing Kill makes a stop of the city kill what still runs; nil = never.
	Kill    <-chan struct{}
	Until   Until
	Timeout time.Duration // with Until: return ErrTimeout after this; 0 = none
	// With Until, an agent that is blocked this long with no terminal attached
	// ends the run with a *BlockedError; 0 = never. With FailOnBlocked it does
	// so at once.
	BlockedTimeout time.Duration
	FailOnBlocked  bool

	// At the end of an Until, while the sessions still exist:
	Artifacts string                                  // the folder to fill; "" = none
	Record    Recorder                                // for the artifacts; nil = no recordings
	Finished  func(context.Context, api.Status) error // called last; may be nil
}

// Until says when a run ends by itself.
type Until string

// When a run ends.
const (
	UntilStopped Until = ""     // by gc stop
	UntilDone    Until = "done" // every one_shot agent has ended
	UntilIdle    Until = "idle" // every agent is idle or has ended
)

// Run takes the city's lock and controls the city until ctx ends, a client stops
// it, or Once or Until is reached. It returns ErrControllerRunning if another
// process holds the lock. Agents keep running when Run returns, except after a
// stop and with StopOnCancel. An Until ends with nil, a *FailedError, a
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
	if err := names.Reconcile(ctx, o.City, o.Provider, o.Claims, o.Build); err != nil {
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
	srv, err := serve(ctx, o, l.calls)
	if err != nil {
		return err
	}
	defer srv.Close()
	if w, err := watch(l, o.City.Dir); err == nil {
		defer w.close()
	} else {
		l.logf("changes of %s are not detected: %v", o.City.File, err)
	}
	return l.run(ctx)
}

// server is the city's socket.
type server struct {
	*api.Server
	end func()
}

// serve opens the city's socket. Run's end closes it, whatever ends Run.
func serve(ctx context.Context, o Options, c *calls) (*server, error) {
	var fleet http.Handler
	end := func() {}
	if o.Fleet != nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		h, release := o.Fleet(ctx)
		fleet, end = h, func() { cancel(); release() }
	}
	s, err := api.ServeFleet(o.City.Dir, c, fleet)
	if err != nil {
		end()
		return nil, err
	}
	return &server{Server: s, end: end}, nil
}

// Close ends the fleet's streams, then the socket.
func (s *server) Close() {
	s.end()
	s.Server.Close()
}

func checkUntil(u Until) error {
	switch u {
	case UntilStopped, UntilDone, UntilIdle:
		return nil
	}
	return fmt.Errorf("--until %s: must be done or idle", u)
}

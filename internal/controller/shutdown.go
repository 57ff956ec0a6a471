package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// shutdown stops the whole city.
type shutdown struct {
	*core
	l        *loop
	only     bool // stop what runs, start nothing
	begun    bool
	kill     chan struct{} // closed: stops in progress kill at once
	killOnce sync.Once
	done     bool
	err      error
	result   chan error // receives err
}

// begin stops the city within shutdown_timeout.
func (sd *shutdown) begin() { sd.within(sd.o.City.Daemon.ShutdownTimeout) }

// within stops the city: no more starts, then all agents end, then the loop.
// limit is for all agents together; with limit ≤ 0 they are killed, even during
// a gentler shutdown. Otherwise calling it again has no effect.
func (sd *shutdown) within(limit time.Duration) {
	if limit <= 0 {
		sd.killOnce.Do(func() { close(sd.kill) })
	}
	if sd.begun {
		return
	}
	sd.begun = true
	sd.logf("stopping the city")
	sd.l.starts.cancel()
	sd.awaitIdle(func() {
		var targets []target
		for _, ag := range sd.l.agents.all {
			if !ag.foreign && (ag.seen.Owned || ag.seen.Record.Open || ag.seen.Presence == plan.Alive || ag.seen.Presence == plan.Zombie) && ag.seen.Presence != plan.Gone {
				ag.op.name, ag.op.intended = opStop, true
				targets = append(targets, sd.l.stops.target(ag))
			}
		}
		sd.ops.Go(func() {
			err := stopAll(sd.ops.ctx, sd.p, targets, limit, sd.kill)
			if err == nil {
				sd.teardown()
			}
			sd.post(func() { sd.finished(err) })
		})
	})
}

// awaitIdle calls fn on the loop once no operation is in flight.
func (sd *shutdown) awaitIdle(fn func()) {
	idle := func() bool {
		for _, ag := range sd.l.agents.all {
			if ag.op.name != "" {
				return false
			}
		}
		return !sd.l.observer.inFlight
	}
	a := await{met: idle, done: make(chan struct{})}
	sd.l.awaits = append(sd.l.awaits, a)
	sd.ops.Go(func() {
		select {
		case <-a.done:
			sd.post(fn)
		case <-sd.ops.ctx.Done():
		}
	})
}

// teardown ends the server behind the sessions if it has none left, of any city.
func (sd *shutdown) teardown() {
	server, ok := runtime.As[runtime.ServerLifecycleProvider](sd.p)
	if !ok {
		return
	}
	_, err := query.Ask(sd.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, server.TeardownServer(ctx) })
	if err != nil {
		sd.logf("the session server was not stopped: %v", err)
	}
}

// finished ends the run.
func (sd *shutdown) finished(err error) {
	for _, ag := range sd.l.agents.all {
		if ag.op.name != opStop {
			continue
		}
		ag.op.name = ""
		if err == nil {
			ag.seen.Presence, ag.seen.Record.Open, ag.seen.Drain = plan.Gone, false, plan.Drain{}
			sd.l.save(ag)
		}
	}
	if err != nil {
		sd.logf("the city was not stopped completely: %v", err)
	} else if e := sd.store.EndRun(); e != nil {
		sd.logf("cannot save the end of the run: %v", e)
	}
	sd.err, sd.done = err, true
	select {
	case sd.result <- err:
	default:
	}
}

// StopCity ends every agent of a city that has no controller, as a controller
// would. It returns ErrControllerRunning if there is one.
func StopCity(ctx context.Context, o Options) (err error) {
	specs, err := agent.Build(o.City, o.Build)
	if err != nil {
		return err
	}
	lk, err := api.TakeLock(o.City.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lk.Close()) }()
	l, err := newLoop(o, specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.store.Close()) }()
	l.shutdown.only = true
	return l.run(ctx)
}

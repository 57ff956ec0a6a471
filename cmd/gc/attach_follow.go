package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// How long an attached person waits for an agent to be restarted, and how often
// its session is looked for meanwhile.
const (
	followTime = 10 * time.Second
	followTick = 50 * time.Millisecond
)

// followRestart tells an attached person that the program ended and, when the
// controller has started the agent again, whether to go on with it.
func (a *app) followRestart(ctx context.Context, t *target, exit *runtime.Exit) (follow bool, err error) {
	how := "exit status unknown"
	if exit != nil {
		how = exitText(exit)
	}
	if a.agent == nil || !a.awaitRestart(ctx, t) {
		fmt.Fprintf(a.err, "%s ended: %s\n", t.label, how)
		return false, nil
	}
	fmt.Fprintf(a.err, "%s restarted (%s): Enter goes on with it, any other key leaves ", t.label, how)
	key, err := a.readKey(ctx)
	fmt.Fprintln(a.err)
	return err == nil && (key == '\r' || key == '\n'), err
}

// awaitRestart waits until the agent has a session again. It returns false when
// the controller does not start one, or not soon.
func (a *app) awaitRestart(ctx context.Context, t *target) bool {
	ctx, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		ag := a.statusOf(ctx, t)
		if ag == nil || ag.Stopping || ag.SuspendedBy != "" || ag.OneShot {
			return false
		}
		switch ag.State {
		case cityapi.StateRunning, cityapi.StateStarting:
			if running, err := t.provider.IsRunning(ctx, t.session); err == nil && running {
				return true
			}
		case cityapi.StateQuarantined, cityapi.StateSuspended, cityapi.StateUnknown, cityapi.StateExited:
			return false
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// readKey reads one key from the terminal, or returns when ctx ends; the reader
// then ends with the process.
func (a *app) readKey(ctx context.Context) (byte, error) {
	f, ok := a.in.(*os.File)
	if !ok {
		return 0, nil
	}
	old, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return 0, err
	}
	defer func() { _ = term.Restore(int(f.Fd()), old) }() // nothing is left to do about it
	key := make(chan byte, 1)
	go func() {
		var b [1]byte
		_, _ = f.Read(b[:]) // the end of input is a key that leaves
		key <- b[0]
	}()
	select {
	case k := <-key:
		return k, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

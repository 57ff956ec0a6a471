// Package alive cancels requests to a process that exists but does not respond:
// stopped (SIGSTOP), or hung. A request may take any time while the process
// answers a trivial probe. It serves the clients of the multiplexer and of the
// controller.
package alive

import (
	"context"
	"errors"
	"time"
)

// Limit is how long a process may be silent.
const Limit = 10 * time.Second

// Again is the limit for a process that was silent for Limit before, so that a
// caller with several requests does not wait for Limit each time.
const Again = time.Second

// maxPause bounds the pauses between probes, which double.
const maxPause = time.Minute

// Watch returns a context for a request, cancelled with the cause frozen when
// the process does not answer probe within Limit. If probe is nil, the request
// itself has Limit. The caller calls done when the request ends; done does not
// wait for a running probe.
func Watch(ctx context.Context, probe func(context.Context) error, frozen error) (watched context.Context, done func()) {
	return WatchFor(ctx, Limit, probe, frozen)
}

// WatchFor is Watch with another limit. The first probe starts after half of
// it, and has the other half to answer.
func WatchFor(ctx context.Context, limit time.Duration, probe func(context.Context) error, frozen error) (watched context.Context, done func()) {
	watched, cancel := context.WithCancelCause(ctx)
	if probe == nil {
		t := time.AfterFunc(limit, func() { cancel(frozen) })
		return watched, func() { t.Stop(); cancel(nil) }
	}
	half := limit / 2
	pause := half
	var t *time.Timer
	set := make(chan struct{})
	t = time.AfterFunc(pause, func() {
		<-set
		asked, stop := context.WithTimeout(watched, half)
		defer stop()
		err := probe(asked)
		switch {
		case watched.Err() != nil:
		case err != nil && errors.Is(asked.Err(), context.DeadlineExceeded):
			cancel(frozen)
		default: // it answers; or it is gone, which the request itself detects
			pause = min(2*pause, maxPause)
			t.Reset(pause)
		}
	})
	close(set)
	return watched, func() { t.Stop(); cancel(nil) }
}

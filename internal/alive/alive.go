// Package alive ends requests to a process that does not run any more although
// it exists: one that was stopped (SIGSTOP), or hangs. A request may take as long
// as it likes while the process answers a question that needs no waiting. It
// serves the clients of the multiplexer and of the controller.
package alive

import (
	"context"
	"errors"
	"time"
)

// Limit is how long a process may say nothing.
const Limit = 10 * time.Second

// Again is how long it may say nothing when it has been silent for Limit before,
// so that a caller with several questions does not wait for Limit each time.
const Again = time.Second

// mostPause bounds the pauses between questions, which double.
const mostPause = time.Minute

// Watch returns a context for a request, which ends with the cause frozen when
// the process does not answer probe within Limit. Without probe the request
// itself has Limit. The caller calls done when the request is over; it does not
// wait for a probe under way.
func Watch(ctx context.Context, probe func(context.Context) error, frozen error) (watched context.Context, done func()) {
	return WatchFor(ctx, Limit, probe, frozen)
}

// WatchFor is Watch with another limit. The first question comes after half of
// it, and has the other half for its answer.
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
		default: // it answers; or it is gone, which the request itself finds out
			pause = min(2*pause, mostPause)
			t.Reset(pause)
		}
	})
	close(set)
	return watched, func() { t.Stop(); cancel(nil) }
}

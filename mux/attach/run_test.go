//go:build unix

package attach

import (
	"context"
	"testing"
	"time"

	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
)

// attachRun is a running Terminal.
type attachRun struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}
	result Result
	err    error
	panic  any
}

// attachPerson attaches the person's terminal. It reports sizes by Resized: SIGWINCH
// would reach every terminal of the process.
func attachPerson(p *persontest.Person, c *client.Client, name string, change func(*Options)) *attachRun {
	o := Options{In: p.Tty, Out: p.Tty, Resized: p.Resized}
	if change != nil {
		change(&o)
	}
	return attachWith(p.T, c, name, o)
}

func attachWith(t *testing.T, c *client.Client, name string, o Options) *attachRun {
	ctx, cancel := context.WithCancel(context.Background())
	r := &attachRun{t: t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer func() { r.panic = recover() }()
		r.result, r.err = Terminal(ctx, c, name, o)
	}()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// ended waits for the end and returns it.
func (r *attachRun) ended() (Result, error) {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(persontest.Patience):
		r.t.Fatal("the attachment does not end")
	}
	return r.result, r.err
}

// want fails unless it ended for this reason without an error.
func (r *attachRun) want(reason Reason) Result {
	r.t.Helper()
	res, err := r.ended()
	if err != nil || res.Reason != reason || r.panic != nil {
		r.t.Errorf("ended %q, %v, panic %v; want %q", res.Reason, err, r.panic, reason)
	}
	return res
}

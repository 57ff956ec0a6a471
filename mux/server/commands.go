package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/exec"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/store"
	"gascity.dev/gc/vt"
)

// Times of the delivery of ends to owners.
const (
	ownerQuiet   = time.Second     // without output, for a program that reports nothing
	ownerBlocked = 2 * time.Second // for a dialog or a person's draft to go away, before a retry
	ownerWorking = 5 * time.Second // how often a program that reports nothing is checked
)

// commandFault is called at the steps of background commands; tests replace it to end
// the server there.
var commandFault = func(step string) {}

// keepCommands is how many sessions of ended commands are kept; their output is kept
// longer.
const keepCommands = 64

// commandStart makes a session that of a background command.
type commandStart struct {
	pipes bool
	owner string
}

func newCommands(srv *server) *exec.Commands {
	return exec.New(exec.Options{
		Host: commandHost{srv}, Dir: srv.settings.paths.Dir + "/processes",
		Now: func() time.Time { return srv.clock.Now() }, NewID: func() string { return newID(time.Now()) },
		Go: srv.lifetime.work.Go, Done: srv.lifetime.done, Fault: commandFault,
	})
}

// commandHost is the server as background commands see it.
type commandHost struct{ srv *server }

var _ exec.Host = commandHost{}

func (h commandHost) Create(r api.CreateRequest, pty bool, owner string) (exec.Session, error) {
	s, err := h.srv.create(r, &commandStart{pipes: !pty, owner: owner})
	if err != nil {
		return nil, err
	}
	return commandSession{s}, nil
}

func (h commandHost) Find(id string) (exec.Session, bool) {
	s := h.srv.sessions.withID(id)
	return commandSession{s}, s != nil
}

func (h commandHost) Forget(ids ...string) {
	var all []*session
	for _, id := range ids {
		if s := h.srv.sessions.withID(id); s != nil {
			all = append(all, s)
		}
	}
	h.srv.sessions.remove(all...)
}

func (h commandHost) Owner(name string) (exec.Owner, bool) {
	s := h.srv.sessions.named(name)
	return owner{s}, s != nil
}

func (h commandHost) OwnerByID(id string) (exec.Owner, bool) {
	s := h.srv.sessions.withID(id)
	return owner{s}, s != nil
}

func (h commandHost) Tx(f func(*store.Tx) error) error   { return h.srv.db.Batch(f) }
func (h commandHost) View(f func(*store.Tx) error) error { return h.srv.db.View(f) }
func (h commandHost) Publish(e api.Event)                { h.srv.events.log.Append(e) }

func (h commandHost) ShuttingDown() bool {
	h.srv.mu.Lock()
	defer h.srv.mu.Unlock()
	return h.srv.sessions.stopping
}

// commandSession is the session of a command, as the command sees it.
type commandSession struct{ s *session }

func (c commandSession) Process() (pid int, started time.Time) {
	return c.s.life.pid, time.Unix(0, c.s.rec.Started)
}

func (c commandSession) Send(ctx context.Context, p []byte) error { return c.s.input.send(ctx, p) }
func (c commandSession) CloseInput(ctx context.Context) error     { return c.s.input.close(ctx) }

func (c commandSession) Changed() <-chan struct{} {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.change()
}

func (c commandSession) Silent() (time.Duration, bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.activity.silent(), c.s.output.held()
}

func (c commandSession) Resume() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.output.resume()
}

func (c commandSession) End(ctx context.Context, grace time.Duration) error {
	return c.s.srv.reaper.endTree(ctx, c.s, grace)
}

// owner is the session of an owner, as the delivery of ends sees it.
type owner struct{ s *session }

func (o owner) ID() string { return o.s.rec.ID }

// AwaitIdle implements [delivery.Agent].
func (o owner) AwaitIdle(ctx context.Context) error {
	for {
		conditions := []api.Condition{{Idle: true}}
		if o.s.rec.Control == nil { // else it always reports
			conditions = append(conditions, api.Condition{Quiet: ownerQuiet})
		}
		r, err := o.s.waitFor(ctx, api.WaitRequest{Conditions: conditions})
		if err != nil {
			return err
		}
		if r.Met < 0 || r.Exit != nil {
			return delivery.ErrGone
		}
		a, err := o.s.activity.current(ctx)
		if err != nil {
			return gone(err)
		}
		if a.State != api.ActivityWorking && a.State != api.ActivityBlocked && a.State != api.ActivityStuck {
			return nil
		}
		o.s.mu.Lock()
		change := o.s.change()
		o.s.mu.Unlock()
		if err := nudge.AwaitChange(ctx, change, ownerWorking); err != nil {
			return err
		}
	}
}

// gone translates the error of a session that has ended.
func gone(err error) error {
	if errors.Is(err, api.ErrExited) {
		return fmt.Errorf("%w: %w", delivery.ErrGone, err)
	}
	return err
}

// Screen implements [delivery.Agent].
func (o owner) Screen(_ context.Context, lines int) (string, error) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if o.s.life.collected {
		return "", delivery.ErrGone
	}
	return o.s.screen.view().Text(vt.TextOptions{Join: true, Lines: lines}), nil
}

// CursorLine implements [delivery.Agent].
func (o owner) CursorLine(context.Context) (string, bool, error) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if o.s.life.collected {
		return "", false, delivery.ErrGone
	}
	t := o.s.screen.view()
	return t.Line(t.Cursor().Row), true, nil
}

// Press implements [delivery.Agent].
func (o owner) Press(ctx context.Context, key string) error {
	return gone(o.s.input.keys(ctx, api.KeysRequest{Keys: []string{key}}))
}

// Type implements [Owner].
func (o owner) Type(ctx context.Context, id, text string) (delivery.Outcome, error) {
	rec, err := o.s.nudge(ctx, api.NudgeRequest{ID: id, Text: text, Timeout: ownerBlocked, By: &api.Actor{Server: true}})
	if err != nil { // nothing was typed
		return delivery.Outcome{Detail: api.Blocked + ": " + err.Error()}, nil
	}
	return o.outcome(ctx, rec), nil
}

// Outcome implements [Owner].
func (o owner) Outcome(ctx context.Context, id string) (delivery.Outcome, bool, error) {
	o.s.mu.Lock()
	outcome := o.s.nudges.Begun(id)
	o.s.mu.Unlock()
	if outcome == nil && o.s.rec.Control != nil {
		return o.s.leftWithAgent(ctx, id)
	}
	if outcome == nil {
		return delivery.Outcome{}, false, nil
	}
	rec, err := outcome(ctx)
	if err != nil { // nothing was typed, or ctx ended
		return delivery.Outcome{}, false, ctx.Err()
	}
	return o.outcome(ctx, rec), true, nil
}

// outcome translates a receipt. A draft that was not submitted is removed from
// the composer.
func (o owner) outcome(ctx context.Context, rec api.Receipt) delivery.Outcome {
	switch rec.State {
	case api.Submitted:
		return delivery.Outcome{Result: delivery.Submitted}
	case api.Unverified:
		return delivery.Outcome{Result: delivery.Unverified, Detail: rec.Detail}
	case api.Drafted:
		if err := o.clearDraft(ctx); err != nil {
			slog.Warn("cannot clear a draft", "session", o.s.rec.ID, "error", err)
		}
		return delivery.Outcome{Result: delivery.Withdrawn, Detail: "typed, not submitted: " + rec.Detail}
	case api.Dead:
		_ = o.s.life.await(ctx) // the last output is still to be read
	}
	return delivery.Outcome{Detail: rec.State + ": " + rec.Detail}
}

// clearDraft empties the composer.
func (o owner) clearDraft(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, nudge.Patience)
	defer cancel()
	return o.s.input.send(limited, []byte{ctrlU})
}

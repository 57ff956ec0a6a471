package native

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/attach/menu"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// attachAway is how long a terminal waits for another machine that is away. The person
// is told, and can detach.
const attachAway = 10 * time.Minute

// Attach implements runtime.Provider.
func (p *Provider) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	o, err := attachOptions(t)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	if p.o.Machine != nil {
		o.Where, o.Reconnect = p.o.Machine.String(), attachAway
	}
	c, err := p.Client(ctx)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, convert(err))
	}
	res, err := attach.Terminal(ctx, c, name, o)
	if res.Lost > 0 && t.Lost != nil {
		t.Lost(res.Lost)
	}
	switch {
	case errors.Is(err, api.ErrUnreachable) && !errors.Is(err, attach.ErrLost):
		// An idle connection does not notice that the server ended.
		p.drop(c)
		if _, live := p.live(ctx, name); gone(live) {
			err = live
		}
	case errors.Is(err, api.ErrExited):
		return fmt.Errorf("attach %s: %w", name, runtime.ErrSessionNotFound)
	case err == nil && res.Reason == attach.Kicked:
		return fmt.Errorf("attach %s: %w", name, runtime.ErrSentAway)
	case err == nil && res.Reason == attach.Switched && t.Switched != nil:
		t.Switched(res.To)
		return nil
	case err == nil && res.Reason == attach.Exited && t.Ended != nil:
		t.Ended(p.exit(ctx, res.Exit))
		return nil
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // ctx is a regular end
	}
	return fmt.Errorf("attach %s: %w", name, convert(err))
}

// attachOptions returns a terminal as mux/attach has it.
func attachOptions(t runtime.Terminal) (attach.Options, error) {
	o := attach.Options{
		In: t.In, Out: t.Out, Size: t.Size, Resized: t.Resized, ReadOnly: t.ReadOnly, Alone: t.Alone,
		Scrollback: t.Scrollback, Notices: t.Notices, Welcome: t.Welcome,
	}
	all, err := attach.ParseKeys(t.DetachKeys, t.Keys)
	if err != nil {
		return o, err
	}
	if o.DetachKeys = all.Detach; t.Keys != nil {
		o.Keys = &all
	}
	if t.Choices != nil {
		o.Choices = func(ctx context.Context) (items []menu.Item, err error) {
			choices, err := t.Choices(ctx)
			for _, c := range choices {
				items = append(items, menu.Item(c))
			}
			return items, err
		}
	}
	return o, nil
}

// Nudge implements runtime.Provider.
func (p *Provider) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return p.nudgeNamed(ctx, name, content, api.NudgeRequest{})
}

// NudgeNow implements runtime.ImmediateNudgeProvider.
func (p *Provider) NudgeNow(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return p.nudgeNamed(ctx, name, content, api.NudgeRequest{Timeout: time.Nanosecond, Now: true})
}

// NudgeInterrupt implements runtime.InterruptNudgeProvider.
func (p *Provider) NudgeInterrupt(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	r, err := p.nudgeNamed(ctx, name, content, api.NudgeRequest{Timeout: interruptPatience, Interrupt: true})
	if err == nil {
		r.Interrupted = cmp.Or(r.Interrupted, runtime.InterruptUnverified) // a receipt that was remembered does not say
	}
	return r, err
}

// interruptPatience is how long an agent with a control socket may take to end a turn.
const interruptPatience = 15 * time.Second

func (p *Provider) nudgeNamed(ctx context.Context, name string, content []runtime.ContentBlock, r api.NudgeRequest) (runtime.Receipt, error) {
	info, err := p.live(ctx, name) // also proves the connection
	if err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	r.ID, r.Text, r.Raw = rand.Text(), runtime.FlattenText(content), runtime.IsRaw(content)
	if info.Control {
		r.Blocks = blocksOf(content)
		if !r.Now && !r.Interrupt {
			r.Timeout = patience(ctx)
		}
	}
	got, err := p.nudge(ctx, info.ID, r)
	switch {
	case info.Control && errors.Is(err, api.ErrTooLarge):
		return runtime.Receipt{State: runtime.Refused, Detail: err.Error()}, nil
	case info.Control && err != nil && ctx.Err() != nil:
		got, err = p.takeBack(ctx, info.ID, r.ID)
	}
	if err != nil {
		return got, fmt.Errorf("nudge %s: %w", name, err)
	}
	return got, nil
}

// nudgeAway is how long a machine that is cut off during a nudge may take to come back.
const nudgeAway = 2 * time.Minute

// nudge types a message once, however often it is sent: the server knows its id. After a
// link to another machine was cut, the same nudge is asked for again, since only the server
// can tell how far it came. The error of a connection that stays lost says that the text
// may have been typed.
func (p *Provider) nudge(ctx context.Context, id string, r api.NudgeRequest) (runtime.Receipt, error) {
	if r.ID == "" {
		r.ID = rand.Text()
	}
	begin := time.Now()
	for {
		got, err := p.nudgeOnce(ctx, id, r)
		if p.o.Machine == nil || !errors.Is(err, runtime.ErrBackendUnreachable) || errors.Is(err, api.ErrFrozen) {
			return got, err
		}
		if ctx.Err() != nil || time.Since(begin) > nudgeAway {
			return got, fmt.Errorf("%w (the message may have been typed)", err)
		}
		if clock.Sleep(ctx, nudgeAgain) != nil {
			return got, fmt.Errorf("%w (the message may have been typed)", err)
		}
	}
}

// nudgeAgain is the pause between attempts to hear from a nudge.
const nudgeAgain = 250 * time.Millisecond

func (p *Provider) nudgeOnce(ctx context.Context, id string, r api.NudgeRequest) (runtime.Receipt, error) {
	c, err := p.Client(ctx)
	if err != nil {
		return runtime.Receipt{}, convert(err)
	}
	got, err := c.Nudge(ctx, id, r)
	if errors.Is(err, api.ErrExited) {
		return runtime.Receipt{State: runtime.Dead, Detail: "the session ended"}, nil
	}
	if errors.Is(err, api.ErrUnreachable) {
		p.drop(c)
	}
	if err != nil {
		return runtime.Receipt{}, convert(err)
	}
	return *receiptOf(got), nil
}

func receiptOf(r api.Receipt) *runtime.Receipt {
	return &runtime.Receipt{State: runtime.State(r.State), By: r.By, Detail: r.Detail, Changed: r.Changed, Interrupted: r.Interrupted}
}

// SendKeys implements runtime.Provider.
func (p *Provider) SendKeys(ctx context.Context, name string, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	if _, err := keys.Encode(nil, names, keys.Modes{}); err != nil {
		return fmt.Errorf("keys %s: %w", name, convert(err)) // ErrUnknownKey also without a session
	}
	err := p.send(ctx, func(c *client.Client) error { return c.Keys(ctx, name, names, false) })
	return driver.BestEffort("keys", name, err)
}

// Peek implements runtime.Provider.
func (p *Provider) Peek(ctx context.Context, name string, lines int) (string, error) {
	var r api.PeekResult
	err := p.query(ctx, func(c *client.Client) (err error) {
		r, err = c.Peek(ctx, api.PeekRequest{Name: name, Lines: lines})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", name, err)
	}
	return r.Text, nil
}

// ClearScrollback implements runtime.Provider.
func (p *Provider) ClearScrollback(ctx context.Context, name string) error {
	err := p.query(ctx, func(c *client.Client) error { return c.ClearHistory(ctx, name) })
	return driver.BestEffort("clear", name, err)
}

// WaitFor implements runtime.Waiter. It waits again after a restart of the server.
func (p *Provider) WaitFor(ctx context.Context, name string, any []runtime.Condition) (int, error) {
	info, err := p.get(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("wait for %s: %w", name, err)
	}
	req := api.WaitRequest{Conditions: make([]api.Condition, len(any))}
	for i, c := range any {
		req.Conditions[i] = api.Condition{Text: c.Text, Quiet: c.Quiet, Exit: c.Exit, Title: c.Title, Bell: c.Bell, Prompt: c.Prompt, Idle: c.Idle, Blocked: c.Blocked, Done: c.Done, Stuck: c.Stuck, Free: c.Free, Status: c.Status}
	}
	var r api.WaitResult
	err = p.query(ctx, func(c *client.Client) (err error) {
		r, err = c.Wait(ctx, info.ID, req)
		return err
	})
	switch {
	case err != nil:
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return 0, fmt.Errorf("wait for %s: %w", name, err)
	case r.Met < 0:
		return 0, fmt.Errorf("wait for %s: it ended: %w", name, runtime.ErrSessionNotFound)
	}
	return r.Met, nil
}

// Events implements runtime.EventSource. It starts a server if there is none, since
// it would have nothing to subscribe to.
func (p *Provider) Events(ctx context.Context) (<-chan runtime.Event, error) {
	c, err := p.EnsureClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("events: %w", convert(err))
	}
	stream, err := c.Events(ctx, "")
	if errors.Is(err, api.ErrUnreachable) && ctx.Err() == nil {
		p.drop(c)
		if c, err = p.EnsureClient(ctx); err == nil {
			stream, err = c.Events(ctx, "")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("events: %w", convert(err))
	}
	out := make(chan runtime.Event, eventBuffer)
	go p.pump(ctx, stream, out)
	return out, nil
}

// eventBuffer is how many events a subscriber may lag before the server's own queue
// fills.
const eventBuffer = 64

// pump ends with ctx or the stream, and closes out: listeners then list again.
func (p *Provider) pump(ctx context.Context, stream *client.EventStream, out chan<- runtime.Event) {
	defer close(out)
	defer stream.Close()
	for {
		e, err := stream.Next()
		if err != nil {
			return
		}
		if !p.o.Sessions.hasEvent(e) {
			continue
		}
		ev := runtime.Event{Session: e.Session, Time: p.here(ctx, e.Time)}
		switch e.Type {
		case api.EventStarted:
			ev.Kind = runtime.EventStarted
		case api.EventExited:
			ev.Kind, ev.Exit = runtime.EventExited, p.exit(ctx, e.Exit)
		case api.EventNudged:
			ev.Kind, ev.Text, ev.By = runtime.EventNudged, e.Text, actorOf(e.By)
			if e.Receipt != nil {
				ev.Receipt = receiptOf(*e.Receipt)
			}
		case api.EventAnswered:
			ev.Kind, ev.Text, ev.By = runtime.EventAnswered, e.Text, actorOf(e.By)
		case api.EventInterrupted:
			ev.Kind, ev.By = runtime.EventInterrupted, actorOf(e.By)
		default:
			continue
		}
		select {
		case out <- ev:
		case <-ctx.Done():
			return
		}
	}
}

// actorOf converts the process that did something.
func actorOf(a *api.Actor) runtime.Actor {
	if a == nil {
		return runtime.Actor{}
	}
	return runtime.Actor{Session: a.Session, Terminal: a.Terminal, Backend: a.Server, PID: a.PID}
}

package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/runtime"
)

const (
	quietTime = 2 * time.Second // of no output, after which a session without idle reports takes a message
	quietPoll = 500 * time.Millisecond
)

// screenLines is how many lines of a screen tell whether it changes.
const screenLines = 40

// Agent is a session of a provider as a delivery sees it.
type Agent struct {
	Provider runtime.Provider
	Session  string
}

var _ delivery.Agent = Agent{}

// gone translates the provider's error for a session that has ended.
func gone(err error) error {
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return fmt.Errorf("%w: %w", delivery.ErrGone, err)
	}
	return err
}

// Type implements [delivery.Agent].
func (a Agent) Type(ctx context.Context, text string) (delivery.Outcome, error) {
	r, err := a.Provider.Nudge(ctx, a.Session, runtime.TextContent(text))
	switch {
	case err != nil:
		return delivery.Outcome{}, gone(err)
	case r.State == runtime.Submitted:
		return delivery.Outcome{Result: delivery.Submitted}, nil
	case r.State == runtime.Unverified:
		return delivery.Outcome{Result: delivery.Unverified, Detail: r.Detail}, nil
	}
	return delivery.Outcome{Result: delivery.NotSubmitted, Detail: joinReceipt(r)}, nil
}

func joinReceipt(r runtime.Receipt) string {
	text := string(r.State)
	for _, more := range []string{r.By, r.Detail} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// Screen implements [delivery.Agent].
func (a Agent) Screen(ctx context.Context, lines int) (string, error) {
	text, err := Ask(ctx, func(ctx context.Context) (string, error) { return a.Provider.Peek(ctx, a.Session, lines) })
	return text, gone(err)
}

// CursorLine implements [delivery.Agent].
func (a Agent) CursorLine(ctx context.Context) (string, bool, error) {
	c, ok, err := runtime.AsFor[runtime.CursorLineProvider](ctx, a.Provider, a.Session)
	if err != nil || !ok {
		return "", false, err
	}
	line, err := Ask(ctx, func(ctx context.Context) (string, error) { return c.CursorLine(ctx, a.Session) })
	return line, true, err
}

// Press implements [delivery.Agent].
func (a Agent) Press(ctx context.Context, key string) error {
	err := a.Provider.SendKeys(ctx, a.Session, key)
	if errors.Is(err, runtime.ErrUnsupported) {
		return fmt.Errorf("%w: %w", delivery.ErrNoKeys, err)
	}
	return gone(err)
}

// AwaitIdle implements [delivery.Agent].
func (a Agent) AwaitIdle(ctx context.Context) error {
	last, since := "", time.Time{}
	for {
		busy, now, err := a.output(ctx)
		if err != nil {
			return err
		}
		switch {
		case busy || since.IsZero() || now != last:
			last, since = now, time.Now()
		case time.Since(since) >= quietTime:
			return nil
		}
		w, ok, err := runtime.AsFor[runtime.IdleWaitProvider](ctx, a.Provider, a.Session)
		if err != nil {
			return err
		}
		if ok {
			err = w.WaitForIdle(ctx, a.Session, quietTime)
			if err == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, runtime.ErrUnsupported) {
				return err
			}
		}
		if clock.Sleep(ctx, quietPoll) != nil {
			return ctx.Err()
		}
	}
}

// output reports whether the agent is working or blocked, and a value that
// changes with its output: its time or, where that is unknown, the screen.
func (a Agent) output(ctx context.Context) (busy bool, version string, err error) {
	activity, err := Ask(ctx, func(ctx context.Context) (runtime.SessionActivity, error) {
		return ActivityOf(ctx, a.Provider, a.Session)
	})
	if err != nil {
		return false, "", err
	}
	busy = activity.Busy()
	if !activity.Last.IsZero() {
		return busy, activity.Last.String(), nil
	}
	version, err = a.Screen(ctx, screenLines)
	return busy, version, err
}

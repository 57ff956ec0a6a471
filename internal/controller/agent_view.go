package controller

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

// providerAgent is a provider's session as a delivery sees it.
type providerAgent struct {
	p       runtime.Provider
	session string
}

var _ delivery.Agent = providerAgent{}

// gone translates the provider's error for a session that has ended.
func gone(err error) error {
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return fmt.Errorf("%w: %w", delivery.ErrGone, err)
	}
	return err
}

// Type implements [delivery.Agent].
func (a providerAgent) Type(ctx context.Context, text string) (delivery.Outcome, error) {
	r, err := a.p.Nudge(ctx, a.session, runtime.TextContent(text))
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
func (a providerAgent) Screen(ctx context.Context, lines int) (string, error) {
	text, err := ask(ctx, func(ctx context.Context) (string, error) { return a.p.Peek(ctx, a.session, lines) })
	return text, gone(err)
}

// CursorLine implements [delivery.Agent].
func (a providerAgent) CursorLine(ctx context.Context) (string, bool, error) {
	c, ok, err := runtime.AsFor[runtime.CursorLineProvider](ctx, a.p, a.session)
	if err != nil || !ok {
		return "", false, err
	}
	line, err := ask(ctx, func(ctx context.Context) (string, error) { return c.CursorLine(ctx, a.session) })
	return line, true, err
}

// Press implements [delivery.Agent].
func (a providerAgent) Press(ctx context.Context, key string) error {
	err := a.p.SendKeys(ctx, a.session, key)
	if errors.Is(err, runtime.ErrUnsupported) {
		return fmt.Errorf("%w: %w", delivery.ErrNoKeys, err)
	}
	return gone(err)
}

// AwaitIdle implements [delivery.Agent].
func (a providerAgent) AwaitIdle(ctx context.Context) error {
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
		w, ok, err := runtime.AsFor[runtime.IdleWaitProvider](ctx, a.p, a.session)
		if err != nil {
			return err
		}
		if ok {
			err = w.WaitForIdle(ctx, a.session, quietTime)
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
func (a providerAgent) output(ctx context.Context) (busy bool, version string, err error) {
	activity, err := ask(ctx, func(ctx context.Context) (runtime.SessionActivity, error) { return activityOf(ctx, a.p, a.session) })
	if err != nil {
		return false, "", err
	}
	busy = activity.State == runtime.ActivityWorking || activity.State == runtime.ActivityBlocked
	if !activity.Last.IsZero() {
		return busy, activity.Last.String(), nil
	}
	version, err = a.Screen(ctx, screenLines)
	return busy, version, err
}

package tmux

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

var (
	_ runtime.ActivityProvider    = (*Provider)(nil)
	_ runtime.InteractionProvider = (*Provider)(nil)
)

// onScreen is a session as its screen shows it.
func (p *Provider) onScreen(ctx context.Context, v pane) (driver.OnScreen, error) {
	rules, err := driver.ScreenRulesOf(ctx, p, v.name, v.ready)
	return driver.OnScreen{
		Screen: func(ctx context.Context) (string, error) {
			text, err := p.capture(ctx, v.target, fromScreen)
			return runtime.LastLines(text, 0), err
		},
		Keys: func(ctx context.Context, keys ...string) error { return p.pressKeys(ctx, v.target, keys) },
		// tmux counts whole seconds.
		Changed: func(context.Context, string) (time.Time, error) { return v.activity.Add(time.Second), nil },
		Rules:   rules, Limits: p.o.Limits,
	}, err
}

// Activity implements runtime.ActivityProvider from the screen's text.
func (p *Provider) Activity(ctx context.Context, name string) (runtime.Activity, error) {
	v, err := p.get(ctx, target(name))
	if err == nil && v.dead {
		e := v.exit()
		return runtime.Activity{State: runtime.ActivityExited, Source: "process", Evidence: e.Reason, Since: e.Time}, nil
	}
	var s driver.OnScreen
	if err == nil {
		s, err = p.onScreen(ctx, v)
	}
	var a runtime.Activity
	if err == nil {
		a, err = s.Activity(ctx)
	}
	if err != nil {
		return a, fmt.Errorf("activity of %s: %w", name, err)
	}
	return a, nil
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(ctx context.Context, name string) (*runtime.Interaction, error) {
	if _, err := p.live(ctx, name); err != nil {
		return nil, fmt.Errorf("question of %s: %w", name, err)
	}
	a, err := p.Activity(ctx, name)
	return a.Pending, err
}

// Respond implements runtime.InteractionProvider. It holds the session's input.
func (p *Provider) Respond(ctx context.Context, name string, a runtime.Answer) error {
	v, err := p.live(ctx, name)
	var s driver.OnScreen
	if err == nil {
		s, err = p.onScreen(ctx, v)
	}
	var release func()
	if err == nil {
		release, err = p.lockInput(ctx, name)
	}
	if err == nil {
		defer release()
		err = s.Respond(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("answer %s: %w", name, err)
	}
	return nil
}

package tmux

import (
	"context"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

var (
	_ runtime.ActivityProvider    = (*Provider)(nil)
	_ runtime.InteractionProvider = (*Provider)(nil)
)

// onScreen returns how the session's screen is read.
func (p *Provider) onScreen(ctx context.Context, name string) (driver.OnScreen, error) {
	v, err := p.get(ctx, target(name))
	if err != nil {
		return driver.OnScreen{}, err
	}
	if v.dead {
		return driver.OnScreen{Exit: v.exit()}, nil
	}
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

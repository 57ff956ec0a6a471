package exec

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

// look is a screen as it was last seen.
type look struct {
	text  string
	since time.Time // when it changed; zero if it may have changed right before first
	first time.Time // when it was first seen
}

// onScreen returns a running session as peek shows it. peek may still show the last
// screen of one that has ended.
func (p *Provider) onScreen(ctx context.Context, name string) (driver.OnScreen, error) {
	if err := p.live(ctx, name); err != nil {
		return driver.OnScreen{}, err
	}
	ready, err := p.GetMeta(ctx, name, readyMeta)
	if err != nil {
		return driver.OnScreen{}, err
	}
	rules, err := driver.ScreenRulesOf(ctx, p, name, ready)
	return driver.OnScreen{
		Screen: func(ctx context.Context) (string, error) { return p.screen(ctx, name, defaultRows) },
		Keys: func(ctx context.Context, keys ...string) error {
			return p.must(ctx, request{op: opSendKeys, name: name, args: keys})
		},
		Changed: func(ctx context.Context, text string) (time.Time, error) { return p.changed(ctx, name, text) },
		Rules:   rules, Limits: p.o.Limits,
	}, err
}

// changed returns when a session's screen last changed: as the script reports it if
// it declares report-activity, else as far back as this provider has seen the same
// text.
func (p *Provider) changed(ctx context.Context, name, text string) (time.Time, error) {
	h, err := p.handshake(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if h.has(capActivity) {
		return p.GetLastActivity(ctx, name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l, known := p.looks[name]
	switch {
	case !known:
		l = look{text: text, first: time.Now()}
	case l.text != text:
		l = look{text: text, since: time.Now(), first: time.Now()}
	case l.since.IsZero():
		l.since = l.first
	}
	p.looks[name] = l
	return l.since, nil
}

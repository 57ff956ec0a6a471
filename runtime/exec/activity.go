package exec

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

// look is a screen as it was seen, and since when it is the same.
type look struct {
	text  string
	since time.Time // zero: it may have changed right before the first look
	first time.Time
}

// onScreen is a session as peek shows it.
func (p *Provider) onScreen(ctx context.Context, name string) (driver.OnScreen, error) {
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

// changed is when a session's screen changed last: by the script's word where it
// declares report-activity, else as long as this provider has seen the same.
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

// Activity implements runtime.ActivityProvider from what peek shows.
func (p *Provider) Activity(ctx context.Context, name string) (runtime.Activity, error) {
	err := p.live(ctx, name) // peek may still show the last screen of one that has ended
	var s driver.OnScreen
	if err == nil {
		s, err = p.onScreen(ctx, name)
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
	a, err := p.Activity(ctx, name)
	return a.Pending, err
}

// Respond implements runtime.InteractionProvider. It holds the session's input; a
// script without send-keys cannot answer.
func (p *Provider) Respond(ctx context.Context, name string, a runtime.Answer) error {
	err := p.live(ctx, name)
	var s driver.OnScreen
	if err == nil {
		s, err = p.onScreen(ctx, name)
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

package runtimefake

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
)

// IsAttached implements [runtime.Provider].
func (f *Fake) IsAttached(ctx context.Context, name string) (bool, error) {
	if err := f.enter(ctx, Call{Method: "IsAttached", Session: name}); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.liveLocked(name)
	return s != nil && s.attached > 0, nil
}

// Attach implements [runtime.Provider]: it writes the screen to t.Out and stays until
// the session or ctx ends.
func (f *Fake) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	if err := f.enter(ctx, Call{Method: "Attach", Session: name}); err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.liveLocked(name)
	if s == nil {
		return fmt.Errorf("attach %s: %w", name, runtime.ErrSessionNotFound)
	}
	if t.Out != nil {
		if _, err := io.WriteString(t.Out, s.screen); err != nil {
			return fmt.Errorf("attach %s: %w", name, err)
		}
	}
	s.attached++
	f.notifyLocked()
	defer func() { s.attached--; f.notifyLocked() }()
	for f.sessions[name] == s && s.exit == nil {
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			f.mu.Lock()
			return nil
		case <-changed:
		}
		f.mu.Lock()
	}
	return nil
}

// Nudge implements [runtime.Provider]: the text goes onto the screen.
func (f *Fake) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	text := runtime.FlattenText(content)
	if err := f.enter(ctx, Call{Method: "Nudge", Session: name, Text: text}); err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.liveLocked(name)
	if s == nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, runtime.ErrSessionNotFound)
	}
	if r, ok := f.receipts[name]; ok && r.State != runtime.Submitted {
		return r, nil
	}
	f.typeLocked(s, text)
	return runtime.Receipt{State: runtime.Submitted}, nil
}

func (f *Fake) typeLocked(s *session, text string) {
	if s.screen != "" && !strings.HasSuffix(s.screen, "\n") && s.screen != s.cfg.ReadyPromptPrefix {
		s.screen += "\n"
	}
	s.screen += text + "\n"
	s.activity = time.Now()
	f.notifyLocked()
}

// SendKeys implements [runtime.Provider].
func (f *Fake) SendKeys(ctx context.Context, name string, keys ...string) error {
	if err := f.enter(ctx, Call{Method: "SendKeys", Session: name, Keys: slices.Clone(keys)}); err != nil {
		return fmt.Errorf("keys %s: %w", name, err)
	}
	for _, k := range keys {
		if !runtime.KnownKey(k) {
			return fmt.Errorf("keys %s: %w: %q", name, runtime.ErrUnknownKey, k)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.liveLocked(name); s != nil {
		s.activity = time.Now()
		f.notifyLocked()
	}
	return nil
}

// Peek implements [runtime.Provider].
func (f *Fake) Peek(ctx context.Context, name string, lines int) (string, error) {
	if err := f.enter(ctx, Call{Method: "Peek", Session: name, Lines: lines}); err != nil {
		return "", fmt.Errorf("peek %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	if s == nil {
		return "", fmt.Errorf("peek %s: %w", name, runtime.ErrSessionNotFound)
	}
	return runtime.LastLines(s.screen, lines), nil
}

// ClearScrollback implements [runtime.Provider].
func (f *Fake) ClearScrollback(ctx context.Context, name string) error {
	return f.enter(ctx, Call{Method: "ClearScrollback", Session: name})
}

// SetMeta implements [runtime.Provider].
func (f *Fake) SetMeta(ctx context.Context, name, key, value string) error {
	if err := f.enter(ctx, Call{Method: "SetMeta", Session: name, Key: key, Text: value}); err != nil {
		return fmt.Errorf("set meta of %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	if s == nil {
		return fmt.Errorf("set meta of %s: %w", name, runtime.ErrSessionNotFound)
	}
	s.meta[key] = value
	f.notifyLocked()
	return nil
}

// GetMeta implements [runtime.Provider].
func (f *Fake) GetMeta(ctx context.Context, name, key string) (string, error) {
	if err := f.enter(ctx, Call{Method: "GetMeta", Session: name, Key: key}); err != nil {
		return "", fmt.Errorf("meta of %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		return s.meta[key], nil
	}
	return "", nil
}

// RemoveMeta implements [runtime.Provider].
func (f *Fake) RemoveMeta(ctx context.Context, name, key string) error {
	if err := f.enter(ctx, Call{Method: "RemoveMeta", Session: name, Key: key}); err != nil {
		return fmt.Errorf("remove meta of %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		delete(s.meta, key)
		f.notifyLocked()
	}
	return nil
}

// CopyTo implements [runtime.Provider]: it records and checks the path; nothing is
// copied.
func (f *Fake) CopyTo(ctx context.Context, name, src, relDst string) error {
	if err := f.enter(ctx, Call{Method: "CopyTo", Session: name, Text: src, Key: relDst}); err != nil {
		return fmt.Errorf("copy to %s: %w", name, err)
	}
	if relDst != "" && !filepath.IsLocal(relDst) {
		return fmt.Errorf("copy to %s: %w: %q", name, runtime.ErrPathEscapes, relDst)
	}
	return nil
}

// WaitFor implements [runtime.Waiter]. Quiet counts from the last activity.
func (f *Fake) WaitFor(ctx context.Context, name string, any []runtime.Condition) (int, error) {
	if err := f.enter(ctx, Call{Method: "WaitFor", Session: name}); err != nil {
		return 0, fmt.Errorf("wait for %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	start := f.sessions[name]
	if start == nil {
		return 0, fmt.Errorf("wait for %s: %w", name, runtime.ErrSessionNotFound)
	}
	for {
		met, wait, err := firstMet(start, f.sessions[name] != start, any)
		if err != nil || met >= 0 {
			return met, err
		}
		if start.exit != nil || f.sessions[name] != start {
			return 0, fmt.Errorf("wait for %s: %w", name, runtime.ErrSessionNotFound)
		}
		changed := f.changed
		f.mu.Unlock()
		err = sleep(ctx, changed, wait)
		f.mu.Lock()
		if err != nil {
			return 0, fmt.Errorf("wait for %s: %w", name, err)
		}
	}
}

// firstMet returns the first condition that holds, or -1 and how long until one can
// hold without a change (0: never).
func firstMet(s *session, gone bool, any []runtime.Condition) (int, time.Duration, error) {
	var wait time.Duration
	for i, c := range any {
		switch {
		case c.Idle || c.Blocked:
			return 0, 0, fmt.Errorf("activity: %w", runtime.ErrUnsupported)
		case c.Exit:
			if gone || s.exit != nil {
				return i, 0, nil
			}
		case c.Text != "":
			re, err := regexp.Compile(c.Text)
			if err != nil {
				return 0, 0, fmt.Errorf("condition %q: %w", c.Text, err)
			}
			if slices.ContainsFunc(strings.Split(s.screen, "\n"), re.MatchString) {
				return i, 0, nil
			}
		case c.Quiet > 0:
			left := c.Quiet - time.Since(s.activity)
			if left <= 0 {
				return i, 0, nil
			}
			if wait == 0 || left < wait {
				wait = left
			}
		}
	}
	return -1, wait, nil
}

func sleep(ctx context.Context, changed <-chan struct{}, d time.Duration) error {
	var timer <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-timer:
	}
	return nil
}

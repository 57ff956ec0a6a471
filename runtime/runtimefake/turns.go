package runtimefake

import (
	"context"
	"fmt"
	"slices"

	"gascity.dev/gc/runtime"
)

var (
	_ runtime.ConversationProvider = (*Fake)(nil)
	_ runtime.TurnProvider         = (*Fake)(nil)
	_ runtime.ModeProvider         = (*Fake)(nil)
)

// Modes are the modes and models that every agent of the fake offers.
var Modes = []string{"ask", "auto"}

// SetConversation sets the id of the conversation that agents of this session's name
// begin.
func (f *Fake) SetConversation(name, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conversations[name] = id
	f.notifyLocked()
}

// EndTurn ends a turn of a running session's agent; it numbers t.
func (f *Fake) EndTurn(name string, t runtime.Turn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.liveLocked(name); s != nil {
		t.N = s.turn.N + 1
		s.turn = t
		f.notifyLocked()
	}
}

// Conversation implements [runtime.ConversationProvider].
func (f *Fake) Conversation(ctx context.Context, name string) (string, error) {
	if err := f.enter(ctx, Call{Method: "Conversation", Session: name}); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.liveLocked(name)
	if s == nil {
		return "", fmt.Errorf("conversation of %s: %w", name, runtime.ErrSessionNotFound)
	}
	if s.cfg.ResumeID != "" {
		return s.cfg.ResumeID, nil
	}
	return f.conversations[name], nil
}

// AwaitTurn implements [runtime.TurnProvider].
func (f *Fake) AwaitTurn(ctx context.Context, name string, after int) (runtime.Turn, error) {
	if err := f.enter(ctx, Call{Method: "AwaitTurn", Session: name}); err != nil {
		return runtime.Turn{}, err
	}
	for {
		f.mu.Lock()
		s, changed := f.liveLocked(name), f.changed
		var last runtime.Turn
		if s != nil {
			last = s.turn
		}
		f.mu.Unlock()
		switch {
		case s == nil:
			return last, fmt.Errorf("turn of %s: %w", name, runtime.ErrSessionNotFound)
		case last.N > after:
			return last, nil
		}
		select {
		case <-ctx.Done():
			return runtime.Turn{}, ctx.Err()
		case <-changed:
		}
	}
}

// SetMode implements [runtime.ModeProvider].
func (f *Fake) SetMode(ctx context.Context, name, mode, model string) error {
	if err := f.enter(ctx, Call{Method: "SetMode", Session: name, Key: mode, Text: model}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.liveLocked(name) == nil {
		return fmt.Errorf("mode of %s: %w", name, runtime.ErrSessionNotFound)
	}
	for _, v := range []string{mode, model} {
		if v != "" && !slices.Contains(Modes, v) {
			return fmt.Errorf("mode of %s: no mode or model is named %q; valid values: %v", name, v, Modes)
		}
	}
	return nil
}

package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/runtime"
)

// OnScreen is one session of a backend that keeps no evidence of its own: what its
// agent does, and the questions that it asks, are read from the text of its screen.
// The window title, the agent's own reports (OSC 7501) and colours are not seen.
type OnScreen struct {
	Exit *runtime.Exit // of a session that ended; nil while it runs

	Screen func(ctx context.Context) (string, error) // the live screen
	Keys   func(ctx context.Context, keys ...string) error
	// Changed returns when the screen, which is text now, last changed; zero if unknown.
	Changed func(ctx context.Context, text string) (time.Time, error)
	Rules   ScreenRules
	Limits  Limits // Asks, Poll, Move and Gone count
}

// Screens implements runtime.ActivityProvider and runtime.InteractionProvider over
// [OnScreen], for a provider that embeds it.
type Screens struct {
	session func(ctx context.Context, name string) (OnScreen, error)
	input   func(ctx context.Context, name string) (release func(), err error)
}

var (
	_ runtime.ActivityProvider    = Screens{}
	_ runtime.InteractionProvider = Screens{}
)

// NewScreens returns the Screens of a provider. session fails with
// ErrSessionNotFound without a session; input makes the caller the only one that
// types into it until release is called.
func NewScreens(session func(context.Context, string) (OnScreen, error), input func(context.Context, string) (release func(), err error)) Screens {
	return Screens{session, input}
}

// Activity implements runtime.ActivityProvider.
func (s Screens) Activity(ctx context.Context, name string) (runtime.Activity, error) {
	on, err := s.session(ctx, name)
	if err == nil && on.Exit != nil {
		return runtime.Activity{State: runtime.ActivityExited, Source: "process", Evidence: on.Exit.Reason, Since: on.Exit.Time}, nil
	}
	var a runtime.Activity
	if err == nil {
		a, err = on.activity(ctx)
	}
	if err != nil {
		return a, fmt.Errorf("activity of %s: %w", name, err)
	}
	return a, nil
}

// Pending implements runtime.InteractionProvider.
func (s Screens) Pending(ctx context.Context, name string) (*runtime.Interaction, error) {
	a, err := s.Activity(ctx, name)
	if err == nil && a.State == runtime.ActivityExited {
		err = fmt.Errorf("question of %s: %w", name, runtime.ErrSessionNotFound)
	}
	return a.Pending, err
}

// Respond implements runtime.InteractionProvider. It holds the session's input.
func (s Screens) Respond(ctx context.Context, name string, a runtime.Answer) error {
	if err := s.respond(ctx, name, a); err != nil {
		return fmt.Errorf("answer %s: %w", name, err)
	}
	return nil
}

func (s Screens) respond(ctx context.Context, name string, a runtime.Answer) error {
	on, err := s.session(ctx, name)
	if err != nil {
		return err
	}
	if on.Exit != nil {
		return runtime.ErrSessionNotFound
	}
	release, err := s.input(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	return on.respond(ctx, a)
}

func (s OnScreen) activity(ctx context.Context) (runtime.Activity, error) {
	text, err := s.Screen(ctx)
	if err != nil {
		return runtime.Activity{}, err
	}
	changed, err := s.Changed(ctx, text)
	if err != nil {
		return runtime.Activity{}, err
	}
	return s.Rules.read(text, changed, time.Now()), nil
}

// respond answers the question on the screen. The caller holds the input.
func (s OnScreen) respond(ctx context.Context, a runtime.Answer) error {
	if a.Text != "" {
		return fmt.Errorf("text: %w", runtime.ErrInteractionUnsupported)
	}
	s.Limits = s.Limits.withDefaults()
	first, err := s.question(ctx)
	if err != nil {
		return err
	}
	if a.RequestID != "" && a.RequestID != first.ID {
		return fmt.Errorf("%w: another one is open: %q", runtime.ErrQuestion, first.Prompt)
	}
	want, err := rule.PickLabel(first.Options, a.Action)
	if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrQuestion, err)
	}
	// Agents ignore keys that come at once after a question: no person can mean them.
	if err := clock.Sleep(ctx, s.Limits.Asks); err != nil {
		return err
	}
	now, err := s.until(ctx, s.Limits.Move, first.ID, func(rule.Question) bool { return true })
	if err != nil {
		return err
	}
	for range 2*len(first.Options) + 2 {
		if now.Marked < 0 {
			return fmt.Errorf("%w: the text of the screen does not show which option is selected", runtime.ErrQuestion)
		}
		if now.Marked == want {
			return s.confirm(ctx, now)
		}
		if err := s.Keys(ctx, toward(now, want)); err != nil {
			return err
		}
		was := now.Marked
		if now, err = s.until(ctx, s.Limits.Move, first.ID, func(q rule.Question) bool { return q.Marked >= 0 && q.Marked != was }); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the selection never reaches %q", runtime.ErrQuestion, a.Action)
}

// toward returns the key that moves the selection toward an option.
func toward(q rule.Question, want int) string {
	switch {
	case q.Horizontal && want < q.Marked:
		return "Left"
	case q.Horizontal:
		return "Right"
	case want < q.Marked:
		return "Up"
	}
	return "Down"
}

// question returns the open question; ErrQuestion if there is none.
func (s OnScreen) question(ctx context.Context) (rule.Question, error) {
	text, err := s.Screen(ctx)
	if err != nil {
		return rule.Question{}, err
	}
	view := rule.TextView(text)
	view.Ready = s.Rules.Ready
	found, open := view.Find(append(slices.Clone(s.Rules.Dialogs), rule.Dialogs()...))
	if !open || len(found.Options) == 0 {
		return rule.Question{}, fmt.Errorf("%w: no question is open", runtime.ErrQuestion)
	}
	return view.Question(found), nil
}

// until reads the question until ok. It may be missing for a moment while it is
// repainted.
func (s OnScreen) until(ctx context.Context, limit time.Duration, id string, ok func(rule.Question) bool) (rule.Question, error) {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		q, err := s.question(inner)
		if err == nil && q.ID == id && ok(q) {
			return q, nil
		}
		if err != nil && !errors.Is(err, runtime.ErrQuestion) && inner.Err() == nil {
			return q, err
		}
		select {
		case <-inner.Done():
			switch {
			case ctx.Err() != nil:
				return q, ctx.Err()
			case err == nil && q.ID != id:
				return q, fmt.Errorf("%w: another one opened: %q", runtime.ErrQuestion, q.Prompt)
			case errors.Is(err, runtime.ErrQuestion):
				return q, err
			}
			return q, fmt.Errorf("%w: the selection does not follow the keys", runtime.ErrQuestion)
		case <-time.After(s.Limits.Poll):
		}
	}
}

// confirm presses Enter, once, and waits until the question disappears.
func (s OnScreen) confirm(ctx context.Context, q rule.Question) error {
	if err := s.Keys(ctx, "Enter"); err != nil {
		return err
	}
	inner, cancel := context.WithTimeout(ctx, s.Limits.Gone)
	defer cancel()
	for {
		now, err := s.question(inner)
		switch {
		case errors.Is(err, runtime.ErrQuestion), errors.Is(err, runtime.ErrSessionNotFound), err == nil && now.ID != q.ID:
			return nil
		case err != nil && inner.Err() == nil:
			return err
		}
		select {
		case <-inner.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: it is still open after Enter", runtime.ErrQuestion)
		case <-time.After(s.Limits.Poll):
		}
	}
}

package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/mux/api"
)

// Times of an answer.
const (
	respondAsks = 700 * time.Millisecond // a question is open before its first key: an agent ignores keys that no person can mean
	respondMove = 2 * time.Second        // until the selection moves
	respondGone = 5 * time.Second        // until the question is gone
)

// respond selects an option of the open question and confirms it. It holds the input
// lock, so that nothing else is typed meanwhile.
func (s *session) respond(ctx context.Context, r api.RespondRequest) error {
	if err := s.input.acquire(ctx); err != nil {
		return err
	}
	defer s.input.release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.input.cancelWith(cancel)
	if _, err := s.activity.asked(ctx); err != nil {
		return err
	}
	p, err := s.activity.settled(ctx)
	if err != nil {
		return err
	}
	if r.ID != "" && r.ID != p.ID {
		return fmt.Errorf("%w: another question is open: %q", api.ErrQuestion, p.Prompt)
	}
	want, err := pick(p, r.Action)
	if err != nil {
		return err
	}
	for range 2*len(p.Options) + 2 {
		now, err := s.activity.question(ctx)
		switch {
		case err != nil:
			return err
		case now.ID != p.ID:
			return fmt.Errorf("%w: another question appeared: %q", api.ErrQuestion, now.Prompt)
		case now.Selected < 0:
			return fmt.Errorf("%w: cannot tell which option is selected", api.ErrQuestion)
		case now.Selected == want:
			return s.confirm(ctx, now)
		}
		key := "Down"
		if want < now.Selected {
			key = "Up"
		}
		if err := s.input.press(ctx, key); err != nil {
			return err
		}
		// A menu that is being repainted is gone, or another one, for a moment.
		if err := s.activity.awaitQuestion(ctx, respondMove, func(q *api.Pending) bool {
			return q != nil && q.ID == now.ID && q.Selected >= 0 && q.Selected != now.Selected
		}); err != nil {
			return s.notMoved(ctx, now, err)
		}
	}
	return fmt.Errorf("%w: the selection never reaches %q", api.ErrQuestion, r.Action)
}

// settled returns the open question once it has been open for respondAsks.
func (act *activity) settled(ctx context.Context) (*api.Pending, error) {
	for {
		p, err := act.question(ctx)
		if err != nil {
			return nil, err
		}
		act.s.mu.Lock()
		left := respondAsks - act.s.srv.clock.Since(act.detector.AskedSince())
		act.s.mu.Unlock()
		if left <= 0 {
			return p, nil
		}
		if err := clock.Sleep(ctx, left); err != nil {
			return nil, err
		}
	}
}

// notMoved returns why a key did not move the selection.
func (s *session) notMoved(ctx context.Context, was *api.Pending, err error) error {
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	now, err := s.activity.question(ctx)
	switch {
	case err != nil:
		return err
	case now.ID != was.ID:
		return fmt.Errorf("%w: another question appeared: %q", api.ErrQuestion, now.Prompt)
	}
	return fmt.Errorf("%w: the selection does not follow the keys", api.ErrQuestion)
}

// pick returns the only option that action matches.
func pick(p *api.Pending, action string) (int, error) {
	if len(p.Options) == 0 {
		return -1, fmt.Errorf("%w: %q shows no options to choose from", api.ErrQuestion, p.Prompt)
	}
	at, err := rule.PickLabel(p.Options, action)
	if err != nil {
		return -1, fmt.Errorf("%w: %w", api.ErrQuestion, err)
	}
	return at, nil
}

// confirm presses Enter once and waits until the question is gone.
func (s *session) confirm(ctx context.Context, p *api.Pending) error {
	if err := s.input.press(ctx, "Enter"); err != nil {
		return err
	}
	err := s.activity.awaitQuestion(ctx, respondGone, func(q *api.Pending) bool { return q == nil || q.ID != p.ID })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: the question is still open after Enter", api.ErrQuestion)
	}
	return err
}

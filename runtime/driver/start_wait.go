package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/runtime"
)

// errEnded stops a wait because a one_shot session has ended.
var errEnded = errors.New("session ended")

// share is the fraction (1/share) of the remaining time that one wait may use, so
// that its limit, a warning, comes before the deadline of the start, an error.
const share = 2

// limited returns a context for one wait of at most d.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(deadline)/share)
	}
	return context.WithTimeout(ctx, d)
}

// passed turns reaching a wait's own limit into a warning.
func passed(outer, inner context.Context, err error, what string) error {
	if outer.Err() != nil {
		return fmt.Errorf("%s: %w", what, outer.Err())
	}
	if inner.Err() != nil && err != nil {
		return warning{fmt.Errorf("%s: waited long enough", what)}
	}
	return err
}

// dead returns the error of a session that ended, nil while it runs, and errEnded
// for bounded work, whose end is not a failure.
func (s *sequence) dead(ctx context.Context) error {
	if s.h.Ended == nil {
		return nil
	}
	exit, err := s.h.Ended(ctx)
	if err != nil || exit == nil {
		return err
	}
	if s.cfg.Lifecycle == runtime.OneShot {
		s.ended = true
		return errEnded
	}
	d := &runtime.StartupDeath{Session: s.name, Code: exit.Code, Signal: exit.Signal}
	if s.h.Screen != nil {
		if screen, err := s.h.Screen(ctx); err == nil {
			d.Screen = runtime.LastLines(screen, 0)
		}
	}
	return d
}

// checkAlive is dead for a step that waits for nothing.
func (s *sequence) checkAlive(ctx context.Context) error {
	if err := s.dead(ctx); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// until calls done at every change until it returns true, the session ends or ctx
// does. done also returns after how long to call it again without a change; 0: only
// at a change.
func (s *sequence) until(ctx context.Context, done func() (ok bool, again time.Duration, err error)) error {
	for {
		ok, again, err := done()
		if ok || err != nil {
			return err
		}
		if err := s.dead(ctx); err != nil {
			if errors.Is(err, errEnded) {
				return nil
			}
			return err
		}
		if err := s.h.wait(ctx, s.lim.Poll, again); err != nil {
			return err
		}
	}
}

// wait returns at the next change, or after poll if the backend does not report
// changes, but at the latest after most (0: no limit).
func (h Hooks) wait(ctx context.Context, poll, most time.Duration) error {
	if h.Changed == nil && (most <= 0 || poll < most) {
		most = poll
	}
	inner := ctx
	if most > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	var err error
	if h.Changed != nil {
		err = h.Changed(inner)
	} else {
		<-inner.Done()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if inner.Err() != nil {
		return nil
	}
	return err
}

// firstLook is the first interval for polling a process, because no backend
// reports that one started. It doubles up to Limits.Poll.
const firstLook = 5 * time.Millisecond

func (s *sequence) alive(ctx context.Context) error {
	inner, cancel := limited(ctx, s.lim.Alive)
	defer cancel()
	again := firstLook / 2
	err := s.until(inner, func() (bool, time.Duration, error) {
		again = min(2*again, s.lim.Poll)
		ok, err := s.h.Alive(inner, s.cfg.ProcessNames)
		return ok, again, err
	})
	return passed(ctx, inner, err, "none of "+strings.Join(s.cfg.ProcessNames, ", ")+" is alive")
}

// waitsReady reports whether step 6 has input.
func (s *sequence) waitsReady() bool {
	return s.cfg.ReadyPromptPrefix != "" && s.h.Screen != nil || s.cfg.ReadyDelay > 0
}

// tells reports whether a status rule can recognise from the screen's text that the
// program is up. The start then waits for that, not for a delay.
func (s *sequence) tells() bool {
	return s.h.Screen != nil && slices.ContainsFunc(s.cfg.StatusRules, func(r runtime.StatusRule) bool {
		return r.State == runtime.ActivityIdle && r.Region != rule.Title && r.Region != rule.Line
	})
}

// up reports whether the screen shows a program that is waiting for input or working.
func (s *sequence) up(screen string, found rule.Found, open bool) bool {
	if s.cfg.ReadyPromptPrefix != "" {
		return PromptLine(screen, s.cfg.ReadyPromptPrefix, found)
	}
	r, _ := rule.FindStatus(rule.View{Screen: screen}, s.cfg.StatusRules)
	return !open && r != nil && r.State != runtime.ActivityBlocked
}

// asksFor returns what the program needs that only a person can provide, such as a
// login or a key; "" for nothing.
func (s *sequence) asksFor(screen string, found rule.Found, open bool) string {
	if open && found.Known && found.Dialog.When == rule.Report {
		return found.Dialog.Kind + ": " + found.Question
	}
	if open && !found.Known && len(found.Options) > 0 {
		if q := rule.TextView(screen).Question(found); q.Kind == runtime.BlockedAuth {
			return q.Kind + ": " + q.Prompt
		}
	}
	if r, line := rule.FindStatus(rule.View{Screen: screen}, s.cfg.StatusRules); r != nil && r.Kind == runtime.BlockedAuth {
		return r.Kind + ": " + line
	}
	return ""
}

func (s *sequence) ready(ctx context.Context) error {
	if s.h.Screen == nil || s.cfg.ReadyPromptPrefix == "" && !s.tells() {
		return s.delay(ctx)
	}
	inner, cancel := limited(ctx, s.lim.Ready)
	defer cancel()
	unknown := steady{after: s.lim.Settle}
	var prompt time.Time // when it appeared
	var blocked *runtime.StartupBlocked
	err := s.until(inner, func() (bool, time.Duration, error) {
		blocked = nil
		screen, err := s.h.Screen(inner)
		if err != nil {
			return false, 0, err
		}
		found, open := rule.Find(screen, s.table)
		asks := s.asksFor(screen, found, open)
		if asks != "" || s.up(screen, found, open) {
			if prompt.IsZero() {
				prompt = time.Now()
			}
			left := s.lim.Still - time.Since(prompt)
			if s.waits = asks != "" && left <= 0; s.waits {
				return false, 0, warning{fmt.Errorf("waiting for a person: %s", asks)}
			}
			return left <= 0, left, nil
		}
		prompt = time.Time{}
		if !open || !s.dialogsOn() {
			unknown.reset()
			return false, 0, nil
		}
		if found.Answerable() {
			unknown.reset()
			return false, firstLook, s.answer.one(inner)
		}
		blocked = blockedBy(s.name, screen, found)
		if unknown.stands(found) {
			return false, 0, blocked
		}
		return false, unknown.left(), nil
	})
	if blocked != nil && ctx.Err() == nil && inner.Err() != nil {
		return blocked
	}
	what := fmt.Sprintf("no line begins with %q", s.cfg.ReadyPromptPrefix)
	if s.cfg.ReadyPromptPrefix == "" {
		what = "no status rule matches a program that is up"
	}
	return passed(ctx, inner, err, what)
}

// delay waits ReadyDelay, or until the session ends.
func (s *sequence) delay(ctx context.Context) error {
	inner, cancel := context.WithTimeout(ctx, time.Duration(s.cfg.ReadyDelay))
	defer cancel()
	err := s.until(inner, func() (bool, time.Duration, error) { return false, 0, nil })
	if ctx.Err() == nil && inner.Err() != nil {
		return nil // the delay is over
	}
	return err
}

// PromptLine reports whether a line of the screen begins with the prefix, after a
// frame and blanks. Options of the dialog found there are ignored: they begin like
// a prompt.
func PromptLine(screen, prefix string, found rule.Found) bool {
	options := map[int]bool{}
	for _, o := range found.Options {
		options[o.Row] = true
	}
	row := 0
	for line := range strings.SplitSeq(screen, "\n") {
		if !options[row] && rule.IsPrompt(line, prefix) {
			return true
		}
		row++
	}
	return false
}

// steady detects when the same dialog has been open long enough.
type steady struct {
	after time.Duration
	key   string
	since time.Time
}

func (u *steady) reset() { u.key = "" }

func (u *steady) stands(f rule.Found) bool {
	key := fmt.Sprintf("%s\x00%s\x00%d\x00%q", f.Dialog.Name, f.Question, f.Marked, f.Labels())
	if u.key != key {
		u.key, u.since = key, time.Now()
		return false
	}
	return time.Since(u.since) >= u.after && len(f.Options) > 0 && (f.Known || f.Marked >= 0)
}

// left returns how long until the dialog counts; 0 if it never will.
func (u *steady) left() time.Duration { return max(u.after-time.Since(u.since), 0) }

// dialogsOn reports whether start-up dialogs are answered.
func (s *sequence) dialogsOn() bool {
	if s.h.Screen == nil || s.h.Keys == nil {
		return false
	}
	if s.cfg.AcceptStartupDialogs != nil {
		return *s.cfg.AcceptStartupDialogs
	}
	return s.cfg.ReadyPromptPrefix != "" || s.cfg.ReadyDelay > 0 ||
		len(s.cfg.ProcessNames) > 0 || s.cfg.EmitsPermissionWarning
}

// If nothing in the config shows when the program is ready, the dialogs step waits
// until it has painted something and then paused for paintPause, but at most
// paintLimit.
const (
	paintLimit = 3 * time.Second
	paintPause = 400 * time.Millisecond
)

func (s *sequence) dialogs(ctx context.Context) error {
	if s.waits {
		return nil
	}
	inner, cancel := limited(ctx, s.lim.Dialogs)
	defer cancel()
	if !s.waitsReady() {
		if err := s.painted(inner); err != nil {
			return passed(ctx, inner, err, "nothing on the screen")
		}
		if s.ended {
			return nil
		}
	}
	err := s.answer.all(inner)
	var asks warning
	if s.waits = errors.As(err, &asks); s.waits {
		return err
	}
	var blocked *runtime.StartupBlocked
	if errors.As(err, &blocked) {
		return blocked
	}
	if dead := s.checkAlive(ctx); dead != nil {
		return dead
	}
	return passed(ctx, inner, err, "start-up dialogs")
}

func (s *sequence) painted(ctx context.Context) error {
	inner, cancel := limited(ctx, paintLimit)
	defer cancel()
	last, since := "", time.Now()
	err := s.until(inner, func() (bool, time.Duration, error) {
		screen, err := s.h.Screen(inner)
		if err != nil {
			return false, 0, err
		}
		if screen != last {
			last, since = screen, time.Now()
		}
		if strings.TrimSpace(screen) == "" {
			return false, 0, nil
		}
		left := paintPause - time.Since(since)
		return left <= 0, max(left, firstLook), nil
	})
	if inner.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

func (s *sequence) nudge(ctx context.Context) error {
	if s.waits {
		return warning{errors.New("nudge not typed: the program is waiting for a person")}
	}
	r, err := s.h.Nudge(ctx, s.cfg.Nudge)
	if dead := s.checkAlive(ctx); dead != nil {
		return dead
	}
	if err != nil {
		return err
	}
	if r.State != runtime.Submitted {
		return warning{fmt.Errorf("nudge %s: %s", r.State, r.Detail)}
	}
	return nil
}

package server

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"gascity.dev/gc/mux/api"
)

// maxConditions bounds one wait.
const maxConditions = 64

// condition is a compiled Condition.
type condition struct {
	api.Condition
	text, title *regexp.Regexp
}

// waitBegan is what a wait compares with.
type waitBegan struct {
	bells    uint64
	activity *api.Activity // nil before the first answer
}

func compileConditions(cs []api.Condition) ([]condition, error) {
	if len(cs) == 0 || len(cs) > maxConditions {
		return nil, fmt.Errorf("%w: a wait needs 1 to %d conditions", api.ErrRequest, maxConditions)
	}
	out := make([]condition, len(cs))
	for i, c := range cs {
		out[i].Condition = c
		set := 0
		for _, is := range []bool{c.Text != "", c.Quiet != 0, c.Exit, c.Title != "", c.Bell, c.Prompt, c.Idle, c.Blocked, c.Done, c.Status, c.Changed != nil} {
			if is {
				set++
			}
		}
		if set != 1 || c.Quiet < 0 {
			return nil, fmt.Errorf("%w: condition %d must have exactly one field", api.ErrRequest, i)
		}
		var err error
		if c.Text != "" {
			out[i].text, err = regexp.Compile(c.Text)
		} else if c.Title != "" {
			out[i].title, err = regexp.Compile(c.Title)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: condition %d: %w", api.ErrRequest, i, err)
		}
	}
	return out, nil
}

// other reports whether the program does something else than when the wait began.
func (w *waitBegan) other(a api.Activity) bool {
	if w.activity == nil {
		w.activity = &a
		return false
	}
	question := func(a api.Activity) string {
		if a.Pending == nil {
			return ""
		}
		return a.Pending.ID
	}
	return a.State != w.activity.State || a.Kind != w.activity.Kind || question(a) != question(*w.activity)
}

// waitFor blocks until a condition holds, the session ends or the time is over. It checks
// the conditions after changes only.
func (s *session) waitFor(ctx context.Context, r api.WaitRequest) (api.WaitResult, error) {
	cs, err := compileConditions(r.Conditions)
	if err != nil {
		return api.WaitResult{}, err
	}
	var limit <-chan time.Time
	if r.Timeout > 0 {
		t := time.NewTimer(r.Timeout)
		defer t.Stop()
		limit = t.C
	}
	s.mu.Lock()
	began := waitBegan{bells: s.activity.bells}
	s.mu.Unlock()
	for {
		res, done, quiet, change := s.check(cs, &began)
		if done {
			return res, nil
		}
		silent, stop := after(quiet)
		select {
		case <-change:
		case <-silent:
		case <-limit:
			res = api.WaitResult{Met: -1, TimedOut: true}
			done = true
		case <-ctx.Done():
			stop()
			return api.WaitResult{}, ctx.Err()
		}
		stop()
		if done {
			return res, nil
		}
	}
}

// after returns a channel that fires after d; never if d is negative.
func after(d time.Duration) (fires <-chan time.Time, stop func()) {
	if d < 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// check checks the conditions. quiet is how long output must stay away until one holds,
// -1 for none.
func (s *session) check(cs []condition, began *waitBegan) (res api.WaitResult, done bool, quiet time.Duration, change <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiet = -1
	again := func(d time.Duration) {
		if d > 0 && (quiet < 0 || d < quiet) {
			quiet = d
		}
	}
	change = s.life.endChan()
	for i, c := range cs {
		if !c.Exit {
			change = s.change()
		}
		var held bool
		switch {
		case c.Quiet > 0:
			left := c.Quiet - s.activity.silent()
			held = left <= 0
			again(left)
		case c.Idle || c.Blocked || c.Done || c.Status:
			a, ok, d := s.activity.detect()
			held = ok && (c.Idle && a.TakesMessages() || c.Blocked && a.State == api.ActivityBlocked ||
				c.Done && a.State == api.ActivityDone || c.Status && began.other(a))
			again(d)
		default:
			held = s.holds(c, began.bells)
		}
		if held {
			return api.WaitResult{Met: i, Exit: s.life.exitCopy()}, true, quiet, nil
		}
	}
	if s.life.ended() {
		return api.WaitResult{Met: -1, Exit: s.life.exitCopy()}, true, quiet, nil
	}
	return api.WaitResult{}, false, quiet, change
}

// holds checks one condition that does not depend on time. mu is held.
func (s *session) holds(c condition, bells uint64) bool {
	switch {
	case c.Exit:
		return s.life.ended()
	case c.Bell:
		return s.activity.bells > bells
	case c.Prompt:
		return s.activity.prompt
	case c.Changed != nil:
		return s.screen.revision() != *c.Changed
	case c.title != nil:
		return c.title.MatchString(s.screen.term.Title())
	case c.text != nil:
		screen := s.screen.view()
		_, rows := screen.Size()
		for i := range rows {
			if c.text.MatchString(screen.Line(i)) {
				return true
			}
		}
	}
	return false
}

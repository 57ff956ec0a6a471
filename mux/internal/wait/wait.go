package wait

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

// began is what a wait compares with.
type began struct {
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
		for _, is := range []bool{c.Text != "", c.Quiet != 0, c.Exit, c.Title != "", c.Bell, c.Prompt, c.Idle, c.Blocked, c.Done, c.Free, c.Stuck, c.Status, c.Changed != nil} {
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
func (w *began) other(a api.Activity) bool {
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
	limit := func(a api.Activity) time.Time {
		if a.Limit == nil {
			return time.Time{}
		}
		return a.Limit.Until
	}
	return (a.Limit == nil) != (w.activity.Limit == nil) || !limit(a).Equal(limit(*w.activity)) || a.State != w.activity.State || a.Kind != w.activity.Kind || question(a) != question(*w.activity)
}

// For blocks until a condition holds, the session ends or the time is over. It checks
// the conditions after changes only.
func For(ctx context.Context, s Session, r api.WaitRequest) (api.WaitResult, error) {
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
	s.Lock()
	start := began{bells: s.Bells()}
	s.Unlock()
	for {
		res, done, quiet, change := check(s, cs, &start)
		if done {
			return res, nil
		}
		var silent <-chan time.Time
		if quiet >= 0 {
			silent = time.After(quiet)
		}
		select {
		case <-change:
		case <-silent:
		case <-limit:
			return api.WaitResult{Met: -1, TimedOut: true}, nil
		case <-ctx.Done():
			return api.WaitResult{}, ctx.Err()
		}
	}
}

// check checks the conditions. quiet is how long output must stay away until one holds,
// -1 for none.
func check(s Session, cs []condition, start *began) (res api.WaitResult, done bool, quiet time.Duration, change <-chan struct{}) {
	s.Lock()
	defer s.Unlock()
	quiet = -1
	again := func(d time.Duration) {
		if d > 0 && (quiet < 0 || d < quiet) {
			quiet = d
		}
	}
	change = s.End()
	for i, c := range cs {
		if !c.Exit {
			change = s.Change()
		}
		var held bool
		switch {
		case c.Quiet > 0:
			left := c.Quiet - s.Silent()
			held = left <= 0
			again(left)
		case c.Idle || c.Blocked || c.Done || c.Free || c.Stuck || c.Status:
			a, ok, d := s.Activity()
			held = ok && (c.Idle && a.TakesMessages() || c.Blocked && a.State == api.ActivityBlocked ||
				c.Done && a.State == api.ActivityDone || c.Stuck && a.State == api.ActivityStuck ||
				c.Free && a.TakesMessages() && len(a.Background) == 0 || c.Status && start.other(a))
			again(d)
		default:
			held = holds(s, c, start.bells)
		}
		if held {
			return api.WaitResult{Met: i, Exit: s.Exit()}, true, quiet, nil
		}
	}
	if s.Exit() != nil {
		return api.WaitResult{Met: -1, Exit: s.Exit()}, true, quiet, nil
	}
	return api.WaitResult{}, false, quiet, change
}

// holds checks one condition that does not depend on time. The lock is held.
func holds(s Session, c condition, bells uint64) bool {
	switch {
	case c.Exit:
		return s.Exit() != nil
	case c.Bell:
		return s.Bells() > bells
	case c.Prompt:
		return s.Prompt()
	case c.Changed != nil:
		return s.Revision() != *c.Changed
	case c.title != nil:
		return c.title.MatchString(s.Term().Title())
	case c.text != nil:
		screen := s.View()
		_, rows := screen.Size()
		for i := range rows {
			if c.text.MatchString(screen.Line(i)) {
				return true
			}
		}
	}
	return false
}

package nudge

import (
	"cmp"
	"context"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
)

// Times of a nudge that interrupts a turn first.
const (
	turnLimit    = 10 * time.Second // for the turn to end
	unknownLimit = 2 * time.Second  // for a program that does not show what it does to show that it is idle
	redirectWait = time.Second      // for what is in the way after that
)

// redirect ends the turn that runs and returns what is known about it. ok is false if the
// message must not be typed; the receipt then says why. The caller holds the queue.
func (ns *Nudges) redirect(ctx context.Context, r api.NudgeRequest) (rec api.Receipt, interrupted string, ok bool) {
	was, err := ns.does(ctx, time.Second, func(api.Activity) bool { return true })
	if err != nil {
		return api.Receipt{State: api.Refused, Detail: err.Error()}, api.InterruptNone, false
	}
	limit := cmp.Or(max(r.Timeout, 0), turnLimit)
	switch was.State {
	case api.ActivityIdle, api.ActivityDone, api.ActivityExited:
		return rec, api.InterruptNone, true
	case rule.StateStarting:
		return api.Receipt{State: api.Blocked, By: api.ByStart, Detail: "the agent is starting"}, api.InterruptNone, false
	case api.ActivityBlocked:
		if !cancellable(was) {
			return api.Receipt{State: api.Blocked, By: "dialog", Detail: blockedBy(was)}, api.InterruptNone, false
		}
	case api.ActivityWorking, rule.StateStuck:
	default:
		limit = unknownLimit
	}
	if err := ns.s.Interrupt(r.By); err != nil {
		return failedNudge(err), api.InterruptUnverified, false
	}
	over := func(a api.Activity) bool { return takes(a) || a.State == api.ActivityBlocked && !cancellable(a) }
	is, err := ns.does(ctx, limit/2, over)
	if err != nil && ctx.Err() == nil && is.State == api.ActivityWorking { // a busy program may lose a key
		if err := ns.s.Interrupt(r.By); err != nil {
			return failedNudge(err), api.InterruptUnverified, false
		}
	}
	if err != nil {
		is, err = ns.does(ctx, limit/2, over)
	}
	switch {
	case err == nil && takes(is):
		ns.settle(ctx)
		return rec, api.InterruptEnded, true
	case err == nil:
		return api.Receipt{State: api.Blocked, By: "dialog", Detail: blockedBy(is)}, api.InterruptUnverified, false
	case ctx.Err() == nil && limit == unknownLimit && !busy(is):
		return rec, api.InterruptUnverified, true
	}
	why := "cannot tell whether the interrupt ended the turn"
	if busy(is) {
		why = "the agent is " + is.State + " after the interrupt, too"
	}
	return api.Receipt{State: api.Blocked, By: api.ByTurn, Detail: why}, api.InterruptUnverified, false
}

// settle waits a moment for a program to stop painting: it may put the message of the turn
// back into its composer.
func (ns *Nudges) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for {
		ns.s.Lock()
		_, last := ns.s.Output()
		change := ns.s.Change()
		ns.s.Unlock()
		left := quietTime - time.Since(last)
		if left <= 0 || AwaitChange(ctx, change, left) != nil {
			return
		}
	}
}

// takes reports whether a program takes a message, or is gone.
func takes(a api.Activity) bool {
	return a.State == api.ActivityIdle || a.State == api.ActivityDone || a.State == api.ActivityExited
}

func busy(a api.Activity) bool {
	return a.State == api.ActivityWorking || a.State == rule.StateStuck || a.State == api.ActivityBlocked
}

// cancellable reports whether the keys of an interrupt cancel the question. Those about a
// login or a directory may end the program instead.
func cancellable(a api.Activity) bool {
	return a.Kind == status.Permission || a.Kind == status.Question
}

// does waits until ok accepts what the program does, at most for limit, and returns it.
// The error of a limit comes with what the program did last.
func (ns *Nudges) does(ctx context.Context, limit time.Duration, ok func(api.Activity) bool) (last api.Activity, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := ns.s
	for {
		s.Lock()
		a, known, again := s.Activity()
		change := s.Change()
		if _, ended := s.Ending(); ended {
			a, known = api.Activity{State: api.ActivityExited}, true
		}
		s.Unlock()
		if known {
			if last = a; ok(a) {
				return a, nil
			}
		}
		if again <= 0 {
			again = limit
		}
		if err := AwaitChange(ctx, change, again); err != nil {
			return last, err
		}
	}
}

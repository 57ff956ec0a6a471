package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// BlockedError ends a run because an agent's question was not answered.
type BlockedError struct {
	Agent    string
	Activity runtime.Activity
	Waited   time.Duration // 0: the run fails at once
}

func (e *BlockedError) Error() string {
	text := "agent " + e.Agent + " is blocked"
	if e.Activity.Kind != "" {
		text += " (" + e.Activity.Kind + ")"
	}
	if q := e.Activity.Pending; q != nil && q.Prompt != "" {
		text += fmt.Sprintf(": %q", q.Prompt)
	}
	if e.Waited > 0 {
		text += fmt.Sprintf(": no answer within %v", e.Waited)
	}
	return text
}

// startupGrace is how long a known start-up dialog may be open before the agent
// counts as blocked: gc may be answering it.
const startupGrace = 3 * time.Second

// watchBlocked watches every running agent of a run that ends by itself: an
// unanswered question would keep it going forever.
func (g *goal) watchBlocked() {
	if g.o.Until == UntilStopped || g.o.BlockedTimeout <= 0 && !g.o.FailOnBlocked || g.l.shutdown.begun || g.reached {
		return
	}
	for _, ag := range g.l.agents.all {
		id := ag.seen.Record.ID
		if ag.spec == nil || ag.foreign || ag.op.name != "" || ag.seen.Presence != plan.Alive || ag.watch.blocked == id {
			continue
		}
		ag.watch.blocked = id
		name, served := ag.seen.Session, ag.seen.Record.Served
		g.ops.Go(func() { g.awaitBlocked(ag, id, name, served) })
	}
}

// awaitBlocked ends the run once the session has been blocked for too long. It
// returns when the session ends.
func (g *goal) awaitBlocked(ag *agentState, id, name string, served bool) {
	activity, err := g.blockedTooLong(g.ops.ctx, name, served)
	if err != nil && !errors.Is(err, runtime.ErrUnsupported) {
		_ = clock.Sleep(g.ops.ctx, waitPause)
	}
	g.post(func() {
		switch {
		case ag.watch.blocked != id:
		case err == nil:
			blocked := &BlockedError{Agent: ag.name(), Activity: activity}
			if !g.o.FailOnBlocked {
				blocked.Waited = g.o.BlockedTimeout
			}
			g.conclude(blocked)
		case !errors.Is(err, runtime.ErrUnsupported):
			ag.watch.blocked = "" // ask again
		}
	})
}

// blockedTooLong returns once one question has been open for as long as the run
// allows with no one attached to answer it.
func (g *goal) blockedTooLong(ctx context.Context, name string, served bool) (runtime.Activity, error) {
	w, ok := runtime.As[runtime.Waiter](g.p)
	if !ok {
		return runtime.Activity{}, runtime.ErrUnsupported
	}
	for {
		if _, err := w.WaitFor(ctx, name, []runtime.Condition{{Blocked: true}}); err != nil {
			return runtime.Activity{}, err
		}
		first, err := query.ActivityOf(ctx, g.p, name)
		if err != nil {
			return runtime.Activity{}, err
		}
		stands, err := unchanged(ctx, w, name, g.blockedLimit(first.Activity, served))
		if err != nil {
			return runtime.Activity{}, err
		}
		if !stands || first.State != runtime.ActivityBlocked {
			continue
		}
		now, err := query.ActivityOf(ctx, g.p, name)
		if err != nil {
			return runtime.Activity{}, err
		}
		if sameBlock(first.Activity, now.Activity) && (g.o.FailOnBlocked || !g.attachedNow(ctx, name)) {
			return now.Activity, nil
		}
	}
}

// blockedLimit is how long the question may stay open.
func (g *goal) blockedLimit(a runtime.Activity, served bool) time.Duration {
	limit := g.o.BlockedTimeout
	if g.o.FailOnBlocked {
		limit = 0
	}
	switch {
	case a.State != runtime.ActivityBlocked:
		return 0
	case a.Kind == runtime.BlockedRateLimit && !g.o.FailOnBlocked: // it passes by itself
		return waitChunk
	case !served && a.Pending != nil && a.Pending.Metadata["dialog"] != "":
		return max(limit, startupGrace)
	}
	return limit
}

// unchanged waits for d and reports whether the activity stayed the same.
func unchanged(ctx context.Context, w runtime.Waiter, name string, d time.Duration) (bool, error) {
	if d <= 0 {
		return true, nil
	}
	inner, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_, err := w.WaitFor(inner, name, []runtime.Condition{{Status: true}})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// sameBlock reports whether the same question is still open.
func sameBlock(a, b runtime.Activity) bool {
	if b.State != runtime.ActivityBlocked {
		return false
	}
	return a.Since.Equal(b.Since) || a.Pending != nil && b.Pending != nil && a.Pending.RequestID == b.Pending.RequestID
}

// attachedNow reports whether a person is attached to answer.
func (g *goal) attachedNow(ctx context.Context, name string) bool {
	attached, err := query.Ask(ctx, func(ctx context.Context) (bool, error) { return g.p.IsAttached(ctx, name) })
	return err == nil && attached
}

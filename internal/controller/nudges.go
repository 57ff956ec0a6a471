package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

const (
	idleChunk   = time.Minute     // one wait for an agent to become idle
	typeTimeout = 2 * time.Minute // one try to type

)

// nudgeQueue delivers queued nudges in order, one at a time for each agent.
type nudgeQueue struct {
	*core
	l    *loop
	list []*session.Nudge // in the order they came
}

// deliver carries out the plan for queued nudges, and returns when it wants to
// be called again.
func (q *nudgeQueue) deliver(now, next time.Time) time.Time {
	even, to := q.store.Now(), map[string]plan.Recipient{}
	for _, n := range q.list {
		if _, known := to[n.Agent]; !known && n.Open() {
			to[n.Agent] = q.l.recipient(q.l.agents.named(n.Agent))
		}
	}
	list, at := plan.Deliveries(q.list, to, even)
	for _, d := range list {
		switch d.Kind {
		case plan.ActGiveUp:
			if d.Nudge.GiveUp(even, d.Why) == nil {
				q.moved(d.Nudge)
			}
		case plan.ActPostpone:
			q.postpone(d.Nudge, api.ErrForeign.Error())
		case plan.ActDeliver:
			q.try(q.l.agents.named(d.Nudge.Agent), d.Nudge)
		}
	}
	if left := at.Sub(even); !at.IsZero() && now.Add(left).Before(next) {
		next = now.Add(left)
	}
	return next
}

// recipient describes an agent to the plan; ag may be nil.
func (l *loop) recipient(ag *agentState) plan.Recipient {
	if ag == nil {
		return plan.Recipient{}
	}
	s, r := &ag.seen, &ag.seen.Record
	to := plan.Recipient{Foreign: ag.foreign, NotBefore: ag.typing.notBefore}
	if !ag.foreign && s.Presence != plan.Unknown {
		to.ID, to.Continues = r.ID, r.Continues
	}
	free := ag.spec != nil && ag.op.name == ""
	to.Ready = free && s.Presence == plan.Alive && !ag.typing.busy && s.Drain.Since.IsZero()
	to.IdleDown = free && s.Presence == plan.Gone && r.IdleStopped && !r.Stopped && !r.Drained && l.suspended.by(ag) == ""
	return to
}

// try waits in the background until the agent is idle, then types.
func (q *nudgeQueue) try(ag *agentState, n *session.Nudge) {
	ag.typing.busy = true
	id, name := ag.seen.Record.ID, ag.seen.Session
	if n.Immediate || n.Interrupt {
		q.typeIn(ag, n, id)
		return
	}
	w, ok := runtime.As[runtime.IdleWaitProvider](q.p)
	if !ok {
		ag.typing.busy = false
		q.postpone(n, "cannot tell whether the agent is idle")
		return
	}
	ctx, cancel := context.WithCancel(q.ops.ctx)
	ag.typing.nudge, ag.typing.cancel = n.ID, cancel
	q.ops.Go(func() {
		err := w.WaitForIdle(ctx, name, idleChunk)
		cancelled := ctx.Err() != nil
		cancel()
		q.post(func() {
			ag.typing.nudge, ag.typing.cancel = "", nil
			if err == nil {
				q.typeIn(ag, n, id)
				return
			}
			ag.typing.busy = false
			switch {
			case errors.Is(err, runtime.ErrSessionNotFound): // its exit event will follow
			case cancelled: // dropped, or for one that interrupts
			case errors.Is(err, context.DeadlineExceeded):
				q.postpone(n, "the agent is not known to be idle")
			default:
				q.postpone(n, err.Error())
			}
		})
	})
}

// postpone keeps a nudge queued and says why.
func (q *nudgeQueue) postpone(n *session.Nudge, why string) {
	if !n.Open() {
		return
	}
	if n.Postpone(q.store.Now(), oneLine(why)) == nil {
		q.store.SaveNudge(*n)
	}
}

// typeIn types a nudge once. Its lease is on disk before the first byte.
func (q *nudgeQueue) typeIn(ag *agentState, n *session.Nudge, id string) {
	now := q.store.Now()
	if ag.seen.Record.ID != id || ag.seen.Presence != plan.Alive || n.Begin(now, id, ag.seen.Record.Epoch) != nil {
		ag.typing.busy = false
		return
	}
	commit, name, content := q.store.SaveNudge(*n), ag.seen.Session, runtime.TextContent(n.Text)
	if n.Raw {
		content = runtime.RawContent(n.Text)
	}
	q.ops.Go(func() {
		if err := commit.Wait(); err != nil { // nothing was typed
			q.post(func() {
				ag.typing.busy = false
				if n.Retry(q.store.Now(), "the city's records cannot be saved: "+oneLine(err.Error())) == nil {
					q.store.SaveNudge(*n)
				}
			})
			return
		}
		ctx, cancel := context.WithTimeout(q.ops.ctx, typeTimeout)
		nudge := q.p.Nudge
		if n.Interrupt {
			nudge = q.redirect
		}
		r, err := nudge(ctx, name, content)
		cancel()
		q.post(func() {
			ag.typing.busy = false
			if n.End(q.store.Now(), r, err) == nil {
				q.ended(n, r, err)
			}
		})
	})
}

// redirect ends the agent's turn and types.
func (q *nudgeQueue) redirect(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	p, ok, err := runtime.AsFor[runtime.InterruptNudgeProvider](ctx, q.p, name)
	if err != nil || !ok { // nothing was typed
		return runtime.Receipt{State: runtime.Blocked, Detail: "its turn cannot be interrupted: " + cmp.Or(err, runtime.ErrUnsupported).Error()}, nil
	}
	return p.NudgeInterrupt(ctx, name, content)
}

// ended saves and reports a nudge after a try to type it.
func (q *nudgeQueue) ended(n *session.Nudge, r runtime.Receipt, err error) {
	if err != nil || n.State == session.NudgeQueued {
		q.moved(n)
		return
	}
	q.store.SaveNudge(*n)
	q.note(api.Event{Kind: api.EventNudge, Agent: n.Agent, Why: string(n.State), Detail: n.Detail, By: cmp.Or(n.By, byController), Receipt: &r})
}

// moved saves and reports a nudge whose state changed.
func (q *nudgeQueue) moved(n *session.Nudge) {
	q.store.SaveNudge(*n)
	if n.State != session.NudgeQueued {
		q.note(api.Event{Kind: api.EventNudge, Agent: n.Agent, Why: string(n.State), Detail: n.Detail, By: cmp.Or(n.By, byController)})
	}
}

// Queue adds a nudge for the running incarnation, or the next one if the agent
// is down.
func (c *calls) Queue(ctx context.Context, q api.QueueRequest) (session.Nudge, error) {
	var n session.Nudge
	var commit *session.Commit
	who, err := c.callerOf(ctx, api.InsideRequest{})
	if err != nil {
		return n, err
	}
	err = c.call(ctx, func() error {
		ag, err := c.l.agents.pickOne(q.Agent)
		switch {
		case err != nil:
			return err
		case q.Text == "":
			return errors.New("the nudge has no text")
		case len(q.Text) > api.MaxNudge:
			return fmt.Errorf("a nudge is limited to %d bytes", api.MaxNudge)
		}
		n, commit = c.l.nudges.prepare(ag, session.Nudge{Text: q.Text, By: who.name, Immediate: q.Immediate, Raw: q.Raw, Interrupt: q.Interrupt}, q.TTL)
		return nil
	})
	if err != nil {
		return n, err
	}
	if err := commit.Wait(); err != nil { // not acknowledged: forget it
		c.store.DeleteNudge(n.ID)
		return n, api.Hinted(roomHint, "the nudge is not queued: %w", err)
	}
	queued := n
	_ = c.do(context.WithoutCancel(ctx), func() { c.l.nudges.insert(&queued) }) // else the next controller reads it
	return n, nil
}

// prepare makes a nudge and saves it. It is delivered only once insert adds it to
// the queue.
func (q *nudgeQueue) prepare(ag *agentState, n session.Nudge, ttl time.Duration) (session.Nudge, *session.Commit) {
	n = q.addressed(ag, n, ttl)
	return n, q.store.SaveNudge(n)
}

// addressed makes a nudge for an agent.
func (q *nudgeQueue) addressed(ag *agentState, n session.Nudge, ttl time.Duration) session.Nudge {
	n.Agent = ag.name()
	if !ag.foreign && (ag.seen.Presence == plan.Alive || ag.seen.Presence == plan.Zombie) {
		n.SessionID, n.Epoch = ag.seen.Record.ID, ag.seen.Record.Epoch
	} else {
		n.Interrupt = false // there is no turn
	}
	return q.store.NewNudge(n, ttl)
}

// Waking an agent whose limit is over.
const (
	limitOver  = "The usage limit is over. Go on with what you were doing."
	fromLimit  = "limit until " // Nudge.From, before the end of the limit
	limitSlack = 3 * time.Second
	sameLimit  = 2 * time.Minute
)

// afterLimit queues a message for the end of the agent's limit, once, if its config says so.
// An agent that works again before needs none.
func (q *nudgeQueue) afterLimit(ag *agentState, is runtime.Activity) {
	until := limitEnd(is)
	if ag.spec == nil || !ag.spec.Resolved.WakeAfterLimit || until.IsZero() && is.State != runtime.ActivityWorking {
		return
	}
	for i, n := range q.list {
		at, err := time.Parse(time.RFC3339, strings.TrimPrefix(n.From, fromLimit))
		switch {
		case err != nil || n.Agent != ag.name() || !strings.HasPrefix(n.From, fromLimit):
		case !until.IsZero() && n.Ended.IsZero() && at.Sub(until).Abs() < sameLimit:
			return // it is queued
		case !until.IsZero() && !n.Ended.IsZero() && !until.After(q.store.Wall(n.Ended)):
			return // it was delivered since
		case until.IsZero() && n.NotBefore.After(q.store.Now()) && n.Drop(q.store.Now()) == nil:
			q.list = slices.Delete(q.list, i, i+1)
			q.store.DeleteNudge(n.ID)
			return
		}
	}
	if until.IsZero() {
		return
	}
	left := max(0, time.Until(until)) + limitSlack
	if until.Truncate(time.Minute).Equal(until) { // as in "3:05 PM", which may be up to a minute early
		left += time.Minute
	}
	n := q.addressed(ag, session.Nudge{Text: limitOver, From: fromLimit + until.UTC().Format(time.RFC3339), Later: true}, left+session.DefaultTTL)
	n.NotBefore = n.Created.Add(left)
	q.store.SaveNudge(n)
	q.insert(&n)
}

// insert adds a nudge to the queue, ahead of those that were made later.
func (q *nudgeQueue) insert(n *session.Nudge) {
	i := len(q.list)
	for i > 0 && q.list[i-1].ID > n.ID {
		i--
	}
	q.list = slices.Insert(q.list, i, n)
	if ag := q.l.agents.named(n.Agent); n.Interrupt && ag != nil && ag.typing.cancel != nil {
		ag.typing.cancel() // the message that waits for idle comes after it
	}
}

// DropNudge forgets a nudge unless it is being typed. It is off the disk when
// DropNudge returns nil.
func (c *calls) DropNudge(ctx context.Context, id string) error {
	commit, err := c.l.nudges.forget(ctx, id)
	if err != nil {
		return err
	}
	return forgotten("nudge "+id, commit.Wait())
}

func (q *nudgeQueue) forget(ctx context.Context, id string) (commit *session.Commit, err error) {
	err = q.call(ctx, func() error {
		i := slices.IndexFunc(q.list, func(n *session.Nudge) bool { return n.ID == id })
		switch {
		case i < 0:
			return fmt.Errorf("no nudge %s", id)
		case q.list[i].Drop(q.store.Now()) != nil: // a delivery about to begin will find it dropped
			return fmt.Errorf("nudge %s is being delivered", id)
		}
		q.list = slices.Delete(q.list, i, i+1)
		for _, ag := range q.l.agents.all {
			if ag.typing.nudge == id {
				ag.typing.cancel()
			}
		}
		commit = q.store.DeleteNudge(id)
		return nil
	})
	return commit, err
}

// roomHint is the hint for a change that city.db did not take.
const roomHint = "free some space on the disk of the city's .gc folder"

// forgotten is the error for something dropped that is still on disk.
func forgotten(what string, err error) error {
	if err == nil {
		return nil
	}
	return api.Hinted(roomHint, "%s is dropped, but returns when the controller is restarted: %w", what, err)
}

// shown returns a nudge with its times by the system's clock.
func (q *nudgeQueue) shown(n session.Nudge) session.Nudge {
	for _, t := range []*time.Time{&n.Created, &n.Expires, &n.NotBefore, &n.Lease, &n.Ended} {
		*t = q.store.Wall(*t)
	}
	return n
}

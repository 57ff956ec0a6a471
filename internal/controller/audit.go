package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// Who did something, besides agents, sessions and terminals.
const (
	byController  = "controller"
	byMultiplexer = "multiplexer"
	byUnknown     = "unknown"
)

const (
	statusChunk = 5 * time.Minute // one wait for a change
	// statusPause follows every change: a status that flaps makes few events, and
	// whoever answered a question has said so.
	statusPause = 250 * time.Millisecond
)

// audit records what agents do, and what is done to them: changes of their status,
// questions and answers, messages, interrupts.
type audit struct {
	*core
	l    *loop
	seen map[string]*audited // by session
}

// audited is what was recorded of one incarnation.
type audited struct {
	id      string        // of the incarnation
	end     func()        // ends what follows it
	settled bool          // since the last question appeared, it was answered
	blocked runtime.Event // the newest message that was blocked: its sender tries again
}

func (au *audit) of(session string) *audited {
	a := au.seen[session]
	if a == nil {
		a = &audited{}
		au.seen[session] = a
	}
	return a
}

// watch follows the status of every running agent whose backend reports it.
func (au *audit) watch() {
	for name, ag := range au.l.agents.all {
		id := ag.seen.Record.ID
		if ag.spec == nil || ag.foreign || ag.op.name != "" || ag.seen.Presence != plan.Alive || id == "" || au.of(name).id == id {
			continue
		}
		a := au.of(name)
		if a.end != nil {
			a.end() // a session that was restarted at once has the name of the earlier one
		}
		ctx, end := context.WithCancel(au.ops.ctx)
		a.id, a.end = id, end
		au.ops.Go(func() {
			defer end()
			if err := au.follow(ctx, ag, name, id); !followsAgain(err) {
				return
			}
			_ = clock.Sleep(ctx, waitPause)
			au.post(func() {
				if a := au.of(name); a.id == id {
					a.id = ""
				}
			})
		})
	}
}

// follow records changes of an agent's status until its session, which is of the
// incarnation id, ends.
func (au *audit) follow(ctx context.Context, ag *agentState, name, id string) error {
	w, ok, err := runtime.AsFor[runtime.Waiter](ctx, au.p, name)
	if err != nil {
		return err
	}
	p, reports, err := runtime.AsFor[runtime.ActivityProvider](ctx, au.p, name)
	if err != nil {
		return err
	}
	if !ok || !reports {
		return runtime.ErrUnsupported
	}
	post := func(f func()) {
		au.post(func() {
			if ag.seen.Record.ID == id {
				f()
			}
		})
	}
	was := runtime.Activity{State: runtime.ActivityUnknown}
	var known *runtime.Answered // the last one that is recorded, or that was there before
	woken := false              // the backend said that something had changed
	for first := true; ; first = false {
		is, err := au.status(ctx, p, name)
		if err != nil {
			return err
		}
		if end := is.Answered; end != nil && !first && (known == nil || *known != *end) {
			post(func() { au.note(endOf(ag, name, was.Pending, end)) })
		}
		known = is.Answered
		switch {
		case is.State == runtime.ActivityExited:
			return runtime.ErrSessionNotFound
		case isChange(was, is): // and what happens meanwhile is seen by the next query
			err = au.changed(ctx, post, ag, name, was, is)
			was, woken = is, false
		case woken: // the backend's two answers may differ
			err = clock.Sleep(ctx, statusPause)
			woken = false
		default:
			err = awaitChange(ctx, w, name, is)
			woken = true
		}
		if err != nil {
			return err
		}
	}
}

// isChange reports whether a status differs from the one before; no evidence is no change,
// unless a question was open.
func isChange(was, is runtime.Activity) bool {
	if is.State == runtime.ActivityUnknown && requestOf(was) == "" {
		return false
	}
	return statusText(is) != statusText(was) || requestOf(is) != requestOf(was) || !limitEnd(is).Equal(limitEnd(was))
}

// status returns what the session does, with the whole question.
func (au *audit) status(ctx context.Context, p runtime.ActivityProvider, name string) (runtime.Activity, error) {
	a, err := p.Activity(ctx, name)
	if err != nil || a.State != runtime.ActivityBlocked {
		return a, err
	}
	q, ok, err := runtime.AsFor[runtime.InteractionProvider](ctx, au.p, name)
	if err != nil || !ok {
		return a, err
	}
	if asked, err := q.Pending(ctx, name); err == nil { // else the question is gone, or the report alone must do
		a.Pending = asked
	}
	return a, nil
}

// awaitChange returns after a change of the status, or after a while.
func awaitChange(ctx context.Context, w runtime.Waiter, name string, is runtime.Activity) error {
	inner, cancel := context.WithTimeout(ctx, statusChunk)
	defer cancel()
	any := []runtime.Condition{{Status: true}}
	if is.State != runtime.ActivityBlocked { // it may have changed since it was queried
		any = append(any, runtime.Condition{Blocked: true})
	}
	if is.State != runtime.ActivityIdle && is.State != runtime.ActivityDone {
		any = append(any, runtime.Condition{Idle: true})
	}
	_, err := w.WaitFor(inner, name, any)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// changed records one change by post.
func (au *audit) changed(ctx context.Context, post func(func()), ag *agentState, name string, was, is runtime.Activity) error {
	asked, gone := requestOf(is), requestOf(was)
	post(func() {
		au.l.nudges.afterLimit(ag, is)
		if is.State != runtime.ActivityUnknown && (statusText(is) != statusText(was) || !limitEnd(is).Equal(limitEnd(was))) {
			detail := "was " + statusText(was)
			if is.Source != "" {
				detail += ", from " + is.Source
			}
			if is.State == runtime.ActivityStuck {
				detail += ": " + is.Evidence
			}
			if l := is.Limit; l != nil && !l.Until.IsZero() {
				detail += fmt.Sprintf(", until %s: %s", l.Until.Local().Format(time.RFC3339), l.Text)
			} else if l != nil {
				detail += ", until an unknown time: " + l.Text
			}
			au.noteAgent(ag, api.EventStatus, statusText(is), detail)
			au.l.starts.seekConversation(ag)
			if is.State == runtime.ActivityStuck {
				au.stuck(ag)
			}
		}
		if asked != "" && asked != gone {
			au.of(name).settled = false
			au.noteAgent(ag, api.EventQuestion, "asked", questionLine(is.Pending))
		}
	})
	if err := clock.Sleep(ctx, statusPause); err != nil {
		return err
	}
	if gone == "" || gone == asked {
		return nil
	}
	if is.Answered != nil && is.Answered.RequestID == gone {
		return nil // recorded already
	}
	attached := ""
	if yes, err := query.Ask(ctx, func(ctx context.Context) (bool, error) { return au.p.IsAttached(ctx, name) }); err == nil && yes {
		attached = "; a terminal is attached"
	}
	post(func() {
		a := au.of(name)
		if !a.settled && asked == "" {
			au.note(api.Event{
				Kind: api.EventQuestion, Agent: ag.seen.Agent, Session: name, Why: "gone", By: byUnknown,
				Detail: questionLine(was.Pending) + attached,
			})
		}
	})
	return nil
}

// stuck restarts an agent that is stuck, if its config says so.
func (au *audit) stuck(ag *agentState) {
	if ag.spec != nil && ag.spec.Resolved.OnStuck == config.OnStuckRestart && ag.op.name == "" && ag.seen.Presence == plan.Alive && ag.seen.Owned {
		au.l.stops.stop(ag, plan.WhyStuck)
	}
}

// endOf is the event of a question whose end the backend knows.
func endOf(ag *agentState, name string, q *runtime.Interaction, end *runtime.Answered) api.Event {
	e := api.Event{Kind: api.EventAnswered, Agent: ag.seen.Agent, Session: name, By: end.By, Detail: fmt.Sprintf("%q", end.Option)}
	if end.Option == "" {
		e.Kind, e.Why, e.Detail = api.EventQuestion, "gone", questionLine(q)
	}
	return e
}

// answered notes that somebody known answered the question of a session.
func (au *audit) answered(session string) { au.of(session).settled = true }

// take records what was done to an agent.
func (au *audit) take(ag *agentState, ev runtime.Event) {
	e := api.Event{Agent: ag.seen.Agent, Session: ev.Session, Host: ag.host(), By: au.who(ev.By)}
	switch ev.Kind {
	case runtime.EventNudged:
		if e.By == byController || ev.Receipt == nil || au.repeats(ev) {
			return // the queue of nudges records its own
		}
		e.Kind, e.Why, e.Receipt = api.EventNudge, string(ev.Receipt.State), ev.Receipt
		e.Detail = fmt.Sprintf("%q", ev.Text)
		if ev.Receipt.Detail != "" {
			e.Detail = oneLine(ev.Receipt.Detail) + ": " + e.Detail
		}
	case runtime.EventAnswered:
		au.answered(ev.Session)
		e.Kind, e.Detail = api.EventAnswered, fmt.Sprintf("%q", ev.Text)
	case runtime.EventInterrupted:
		e.Kind = api.EventInterrupted
	default:
		return
	}
	au.note(e)
}

// repeats reports whether the same message to the same session was blocked just
// before: gc nudge --wait tries again several times a second.
func (au *audit) repeats(ev runtime.Event) bool {
	a := au.of(ev.Session)
	last := a.blocked
	a.blocked = runtime.Event{}
	if ev.Receipt.State != runtime.Blocked {
		return false
	}
	a.blocked = ev
	return last.Receipt != nil && last.Text == ev.Text && last.Receipt.By == ev.Receipt.By
}

// who names the process that did something.
func (au *audit) who(by runtime.Actor) string {
	switch {
	case by.PID == os.Getpid():
		return byController
	case by.Backend:
		return byMultiplexer
	case by.Session != "":
		if ag := au.l.agents.all[by.Session]; ag != nil && ag.seen.Agent != "" {
			return "agent " + ag.seen.Agent
		}
		return "session " + by.Session
	case by.Terminal != "":
		return "terminal " + by.Terminal
	}
	return byUnknown
}

// limitEnd is when the limit of the agent's provider ends; zero if there is none, or that is
// unknown.
func limitEnd(a runtime.Activity) time.Time {
	if a.Limit == nil {
		return time.Time{}
	}
	return a.Limit.Until
}

// statusText is "blocked (permission)".
func statusText(a runtime.Activity) string {
	if a.Limit != nil && a.State != runtime.ActivityBlocked {
		return a.State + ", limited"
	}
	if a.Kind != "" {
		return a.State + " (" + a.Kind + ")"
	}
	return cmp.Or(a.State, runtime.ActivityUnknown)
}

// requestOf identifies the open question; "" if there is none.
func requestOf(a runtime.Activity) string {
	if a.State != runtime.ActivityBlocked || a.Pending == nil {
		return ""
	}
	return cmp.Or(a.Pending.RequestID, a.Pending.Prompt)
}

// questionLine is `"Proceed?" (Yes | No)`.
func questionLine(q *runtime.Interaction) string {
	if q == nil {
		return ""
	}
	text := fmt.Sprintf("%q", q.Prompt)
	if len(q.Options) > 0 {
		text += " (" + strings.Join(q.Options, " | ") + ")"
	}
	return text
}

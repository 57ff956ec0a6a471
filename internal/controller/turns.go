package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// followTurns records the conversation of an agent that is hosted over ACP, and every
// end of a turn, until its session ends.
func (sr *starter) followTurns(ag *agentState) {
	id, name := ag.seen.Record.ID, ag.seen.Session
	if ag.spec == nil || ag.watch.turns == id || !config.IsACP(ag.spec.HostedBy(sr.o.ProviderName)) {
		return
	}
	if ag.watch.endTurns != nil {
		ag.watch.endTurns()
	}
	ctx, end := context.WithCancel(sr.ops.ctx)
	ag.watch.turns, ag.watch.endTurns = id, end
	after := ag.seen.Record.Turns
	sr.ops.Go(func() {
		defer end()
		for sr.followed(ctx, ag, id, name, &after) {
			if clock.Sleep(ctx, waitPause) != nil {
				return
			}
		}
	})
}

// followed follows the turns after a number, which it advances. It reports whether to
// try again later.
func (sr *starter) followed(ctx context.Context, ag *agentState, id, name string, after *int) (again bool) {
	p, ok, err := runtime.AsFor[runtime.TurnProvider](ctx, sr.p, name)
	if err != nil || !ok {
		return err != nil
	}
	if err := sr.noteConversation(ctx, ag, id, name); err != nil {
		return followsAgain(err)
	}
	for {
		turn, err := p.AwaitTurn(ctx, name, *after)
		if err != nil {
			return followsAgain(err)
		}
		*after = turn.N
		var usage *runtime.Usage
		if a, err := query.ActivityOf(ctx, sr.p, name); err == nil {
			usage = a.Usage
		}
		sr.post(func() {
			if ag.seen.Record.ID == id { // else it died, and has been started again
				ag.seen.Record.Turns = turn.N
				sr.l.save(ag)
			}
			if turn.CancelledBy != "" {
				sr.note(api.Event{Kind: api.EventInterrupted, Agent: ag.seen.Agent, Session: name, By: turn.CancelledBy})
			}
			sr.note(api.Event{
				Kind: api.EventTurn, Agent: ag.seen.Agent, Session: name, Detail: turnText(turn), Turn: &turn, Usage: usage,
			})
		})
	}
}

// followsAgain reports whether a failed query is worth another: the session has not
// ended, nor the controller.
func followsAgain(err error) bool {
	return !errors.Is(err, runtime.ErrSessionNotFound) && !errors.Is(err, runtime.ErrUnsupported) && !errors.Is(err, context.Canceled)
}

// turnText is "end_turn, 3.2s" or the error.
func turnText(t runtime.Turn) string {
	parts := []string{t.StopReason}
	if t.Error != "" {
		parts = append(parts, oneLine(t.Error))
	}
	parts = append(parts, fmt.Sprintf("%.1fs", time.Duration(t.Duration).Seconds()))
	return strings.TrimPrefix(strings.Join(parts, ", "), ", ")
}

// needsLogin records a start that the agent refused for want of a login. It is no
// crash: another start would be refused as well, until a person acts.
func (sr *starter) needsLogin(ag *agentState, err error, blocked *runtime.StartupBlocked) {
	r := &ag.seen.Record
	r.Open, r.Crashed, r.NeedsLogin = false, false, true
	r.LastError, r.LastScreen = oneLine(err.Error()), blocked.Screen
	r.LastHint = api.LoginHint(ag.name())
	ag.seen.Presence = plan.Gone
	sr.noteEnd(ag, api.EventStartFailed, nil, "", r.LastError)
	sr.l.save(ag)
}

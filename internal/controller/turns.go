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
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// followTurns records the conversation of an agent that is hosted over ACP, and every
// end of a turn, until its session ends.
func (sr *starter) followTurns(ag *agentState) {
	id, name := ag.seen.Record.ID, ag.seen.Session
	if ag.spec == nil || ag.watch.turns == id || ag.spec.HostedBy(sr.o.ProviderName) != config.HostACP {
		return
	}
	ag.watch.turns = id
	after := ag.seen.Record.Turns
	sr.ops.Go(func() {
		for sr.followed(ag, id, name, &after) {
			if clock.Sleep(sr.ops.ctx, waitPause) != nil {
				return
			}
		}
	})
}

// followed follows the turns after a number, which it advances. It reports whether to
// try again later.
func (sr *starter) followed(ag *agentState, id, name string, after *int) (again bool) {
	ctx := sr.ops.ctx
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

// noteConversation records which conversation the next start continues.
func (sr *starter) noteConversation(ctx context.Context, ag *agentState, id, name string) error {
	p, ok, err := runtime.AsFor[runtime.ConversationProvider](ctx, sr.p, name)
	if err != nil || !ok {
		return err
	}
	conversation, err := p.Conversation(ctx, name)
	if err != nil {
		return err
	}
	notice := ""
	if a, err := query.ActivityOf(ctx, sr.p, name); err == nil {
		notice = a.Notice
	}
	sr.post(func() {
		r := &ag.seen.Record
		if r.ID != id {
			return
		}
		if notice != "" && r.Conversation != conversation { // the first look at this incarnation
			sr.noteAgent(ag, api.EventWarning, "conversation", notice)
		}
		if conversation != "" && r.Conversation != conversation {
			r.Conversation, r.Conversed = conversation, true
			sr.l.save(ag)
		}
	})
	return nil
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
	r.LastHint = fmt.Sprintf("log in, then gc restart %s; for a variable, set it, then gc stop and gc start", ag.name())
	ag.seen.Presence = plan.Gone
	sr.noteEnd(ag, api.EventStartFailed, nil, "", r.LastError)
	sr.l.save(ag)
}

// keepsConversation reports whether the conversation outlives a failed start. An
// agent over ACP begins a new one by itself if it cannot resume.
func keepsConversation(r *session.Record, err error) bool {
	return strings.HasSuffix(r.ConversesBy, overACP) && !errors.Is(err, runtime.ErrSessionDiedDuringStartup)
}

// overACP marks the provider of a conversation that was begun over ACP: on a terminal
// the program may not find it.
const overACP = "/acp"

package runtimefake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
)

// Activity implements runtime.ActivityProvider.
func (p *Prompts) Activity(ctx context.Context, name string) (act runtime.Activity, err error) {
	err = p.do(ctx, "Activity", name, func(_ *session, a *agent) error {
		act = a.activity()
		return nil
	})
	return act, err
}

func (a *agent) activity() runtime.Activity {
	act := runtime.Activity{State: runtime.ActivityIdle, Source: "acp", Evidence: "no prompt is open", Since: a.last.Ended}
	switch a.busy() {
	case "turn":
		act.State, act.Evidence, act.Since = runtime.ActivityWorking, "a prompt is open", a.began
	case "question":
		q := *a.question
		act.State, act.Kind, act.Evidence, act.Since, act.Pending = runtime.ActivityBlocked, q.Kind, "a question is open", a.began, &q
	}
	return act
}

// Pending implements runtime.InteractionProvider.
func (p *Prompts) Pending(ctx context.Context, name string) (q *runtime.Interaction, err error) {
	err = p.do(ctx, "Pending", name, func(_ *session, a *agent) error {
		q = a.activity().Pending
		return nil
	})
	return q, err
}

// Respond implements runtime.InteractionProvider.
func (p *Prompts) Respond(ctx context.Context, name string, answer runtime.Answer) error {
	return p.do(ctx, "Respond", name, func(s *session, a *agent) error {
		switch {
		case a.question == nil:
			return fmt.Errorf("%w: no question is open", runtime.ErrQuestion)
		case answer.RequestID != "" && answer.RequestID != a.question.RequestID:
			return fmt.Errorf("%w: another question is open", runtime.ErrQuestion)
		case !slices.Contains(a.question.Options, answer.Action):
			return fmt.Errorf("%w: no option %q: %s", runtime.ErrQuestion, answer.Action, strings.Join(a.question.Options, ", "))
		}
		p.endLocked(s, a, "chose "+answer.Action, "end_turn")
		return nil
	})
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (p *Prompts) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return p.do(ctx, "WaitForIdle", name, func(_ *session, a *agent) error {
		return p.awaitLocked(ctx, func() bool { return a.busy() == "" })
	})
}

// Conversation implements runtime.ConversationProvider.
func (p *Prompts) Conversation(ctx context.Context, name string) (id string, err error) {
	err = p.do(ctx, "Conversation", name, func(s *session, _ *agent) error {
		id = "conversation-" + s.id
		return nil
	})
	return id, err
}

// AwaitTurn implements runtime.TurnProvider.
func (p *Prompts) AwaitTurn(ctx context.Context, name string, after int) (turn runtime.Turn, err error) {
	err = p.do(ctx, "AwaitTurn", name, func(s *session, a *agent) error {
		err := p.awaitLocked(ctx, func() bool { return a.turns > after || p.liveLocked(name) != s })
		if err == nil && a.turns <= after {
			return runtime.ErrSessionNotFound
		}
		turn = a.last
		return err
	})
	return turn, err
}

// Modes and models of the simulated agents.
var (
	fakeModes  = []string{"ask", "code"}
	fakeModels = []string{"small", "large"}
)

// SetMode implements runtime.ModeProvider.
func (p *Prompts) SetMode(ctx context.Context, name, mode, model string) error {
	return p.do(ctx, "SetMode", name, func(_ *session, a *agent) error {
		for _, v := range []struct {
			what, value string
			valid       []string
			to          *string
		}{{"mode", mode, fakeModes, &a.mode}, {"model", model, fakeModels, &a.model}} {
			switch {
			case v.value == "":
			case !slices.Contains(v.valid, v.value):
				return fmt.Errorf("no %s %q; valid values: %s", v.what, v.value, strings.Join(v.valid, ", "))
			default:
				*v.to = v.value
			}
		}
		return nil
	})
}

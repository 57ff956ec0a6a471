package runtimefake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
)

// Prompts is a Fake whose nudges reach a simulated agent instead of a terminal. Its
// agents do what runtimetest's do: "HOLD" begins a turn that lasts until it is
// interrupted, "ASK KIND LABEL…" one that asks a question, and any other message is
// repeated on the screen.
type Prompts struct {
	*Fake
	agents map[*session]*agent // guarded by Fake.mu
}

// agent is what a session's agent does.
type agent struct {
	message  string // of the turn that runs; "": none
	began    time.Time
	question *runtime.Interaction
	waiting  []int // tickets of the messages that wait for the end of the turn
	tickets  int
	asked    int
	turns    int
	last     runtime.Turn

	mode, model string
}

var (
	_ runtime.Provider                      = (*Prompts)(nil)
	_ runtime.ActivityProvider              = (*Prompts)(nil)
	_ runtime.InteractionProvider           = (*Prompts)(nil)
	_ runtime.ImmediateNudgeProvider        = (*Prompts)(nil)
	_ runtime.InterruptNudgeProvider        = (*Prompts)(nil)
	_ runtime.IdleWaitProvider              = (*Prompts)(nil)
	_ runtime.InterruptedTurnResetProvider  = (*Prompts)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*Prompts)(nil)
	_ runtime.ConversationProvider          = (*Prompts)(nil)
	_ runtime.TurnProvider                  = (*Prompts)(nil)
	_ runtime.ModeProvider                  = (*Prompts)(nil)
	_ runtime.TransportSupporter            = (*Prompts)(nil)
)

// NewPrompts returns an empty fake of that kind.
func NewPrompts() *Prompts {
	p := &Prompts{Fake: New(), agents: map[*session]*agent{}}
	p.caps.Keys, p.caps.Relaunch, p.caps.Prompts, p.caps.Ordered = false, false, true, true
	return p
}

// SupportsTransport implements runtime.TransportSupporter.
func (p *Prompts) SupportsTransport(t string) bool { return t == "acp" }

// agentLocked returns the running session of the name and its agent.
func (p *Prompts) agentLocked(name string) (*session, *agent, error) {
	s := p.liveLocked(name)
	if s == nil {
		return nil, nil, runtime.ErrSessionNotFound
	}
	if p.agents[s] == nil {
		p.agents[s] = &agent{mode: "ask", model: "small"}
	}
	return s, p.agents[s], nil
}

// busy is By of a receipt; "" if the agent takes a message.
func (a *agent) busy() string {
	switch {
	case a.question != nil:
		return "question"
	case a.message != "":
		return "turn"
	}
	return ""
}

// Nudge implements runtime.Provider: the message waits for the end of the turn.
func (p *Prompts) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return p.nudge(ctx, "Nudge", name, runtime.FlattenText(content), false)
}

// NudgeNow implements runtime.ImmediateNudgeProvider.
func (p *Prompts) NudgeNow(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return p.nudge(ctx, "NudgeNow", name, runtime.FlattenText(content), true)
}

// NudgeInterrupt implements runtime.InterruptNudgeProvider.
func (p *Prompts) NudgeInterrupt(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	interrupted := runtime.InterruptNone
	err := p.do(ctx, "NudgeInterrupt", name, func(s *session, a *agent) error {
		if a.busy() != "" {
			interrupted = runtime.InterruptEnded
			p.endLocked(s, a, "cancelled", "cancelled")
		}
		return nil
	})
	if err != nil {
		return runtime.Receipt{}, err
	}
	r, err := p.nudge(ctx, "Nudge", name, runtime.FlattenText(content), false)
	r.Interrupted = interrupted
	return r, err
}

func (p *Prompts) nudge(ctx context.Context, method, name, text string, now bool) (runtime.Receipt, error) {
	if err := p.enter(ctx, Call{Method: method, Session: name, Text: text}); err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, a, err := p.agentLocked(name)
	if err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	if r, ok := p.receipts[name]; ok && r.State != runtime.Submitted {
		return r, nil
	}
	if strings.TrimSpace(text) == "" {
		return runtime.Receipt{State: runtime.Refused, Detail: "the message is empty"}, nil
	}
	if by := a.busy(); by != "" && now {
		return runtime.Receipt{State: runtime.Blocked, By: by, Detail: "the agent is busy"}, nil
	}
	a.tickets++
	ticket := a.tickets
	a.waiting = append(a.waiting, ticket)
	defer func() { a.waiting = slices.DeleteFunc(a.waiting, func(n int) bool { return n == ticket }) }()
	err = p.awaitLocked(ctx, func() bool {
		return p.sessions[name] != s || s.exit != nil || a.busy() == "" && a.waiting[0] == ticket
	})
	switch {
	case p.sessions[name] != s || s.exit != nil:
		return runtime.Receipt{State: runtime.Dead, Detail: "the agent ended first"}, nil
	case err != nil:
		return runtime.Receipt{State: runtime.Blocked, By: cmp.Or(a.busy(), "turn"), Detail: "the agent is busy"}, nil
	}
	p.takeLocked(s, a, text)
	return runtime.Receipt{State: runtime.Submitted}, nil
}

// awaitLocked waits until ok or the end of ctx.
func (p *Prompts) awaitLocked(ctx context.Context, ok func() bool) error {
	for !ok() {
		changed := p.changed
		p.mu.Unlock()
		err := sleep(ctx, changed, 0)
		p.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// takeLocked begins the turn of a message.
func (p *Prompts) takeLocked(s *session, a *agent, text string) {
	a.message, a.began = text, time.Now()
	p.typeLocked(s, text)
	switch words := strings.Fields(text); {
	case words[0] == "HOLD":
	case words[0] == "ASK" && len(words) > 2:
		a.asked++
		a.question = &runtime.Interaction{
			RequestID: fmt.Sprintf("%s-%d", s.id, a.asked), Kind: words[1], Prompt: text, Options: slices.Clone(words[2:]),
		}
	default:
		p.endLocked(s, a, "", "end_turn")
	}
}

// endLocked ends the turn.
func (p *Prompts) endLocked(s *session, a *agent, text, reason string) {
	if text != "" {
		p.typeLocked(s, text)
	}
	a.turns++
	a.last = runtime.Turn{N: a.turns, ID: fmt.Sprint(a.turns), StopReason: reason, Ended: time.Now()}
	a.message, a.question = "", nil
	p.notifyLocked()
}

// Interrupt implements runtime.Provider: it cancels the turn.
func (p *Prompts) Interrupt(ctx context.Context, name string) error {
	if err := p.Fake.Interrupt(ctx, name); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, a, err := p.agentLocked(name); err == nil && a.message != "" {
		p.endLocked(s, a, "cancelled", "cancelled")
	}
	return nil
}

// ResetInterruptedTurn implements runtime.InterruptedTurnResetProvider.
func (p *Prompts) ResetInterruptedTurn(ctx context.Context, name string) error {
	return p.do(ctx, "ResetInterruptedTurn", name, func(s *session, a *agent) error {
		if a.message != "" {
			p.endLocked(s, a, "cancelled", "cancelled")
		}
		return nil
	})
}

// WaitForInterruptBoundary implements runtime.InterruptBoundaryWaitProvider.
func (p *Prompts) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return p.do(ctx, "WaitForInterruptBoundary", name, func(_ *session, a *agent) error {
		return p.awaitLocked(ctx, func() bool { return a.message == "" || a.began.After(since) })
	})
}

// do records a call about a running agent and carries it out.
func (p *Prompts) do(ctx context.Context, method, name string, f func(s *session, a *agent) error) error {
	if err := p.enter(ctx, Call{Method: method, Session: name}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, a, err := p.agentLocked(name)
	if err == nil {
		err = f(s, a)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

package host

import (
	"strconv"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/conversation"
)

// published is the state that clients and the multiplexer know.
type published struct {
	h     *host
	state control.State
	since time.Time // of the activity
	dirty bool      // the host's state has changed since
}

// publish tells clients and the multiplexer what the agent is doing.
func (p *published) publish() {
	old := p.state
	p.state = p.snapshot()
	p.h.server.Publish(p.state)
	if old.Activity != p.state.Activity || old.Kind != p.state.Kind || pendingID(old) != pendingID(p.state) {
		p.h.screen.report(p.state)
	}
}

func pendingID(s control.State) string {
	if s.Pending == nil {
		return ""
	}
	return s.Pending.RequestID
}

// snapshot is the state as clients see it.
func (p *published) snapshot() control.State {
	s := control.State{
		Version: p.state.Version + 1, Phase: p.h.life.phase, Failure: p.h.life.failure,
		Pending: p.h.asks.pending(), Open: len(p.h.asks.open), Answered: p.h.asks.settled, Queue: p.h.turns.box.queued(),
		LastTurn: p.h.turns.last, Turns: p.h.turns.ended,
		Conversation: p.h.peer.session, Resumed: p.h.start.resumed, Notice: p.h.start.notice, Agent: p.h.peer.agent.Name(),
	}
	if p.h.turns.open != nil {
		s.Turn = p.h.turns.open.msg.ID
	}
	s.Activity, s.Kind, s.Evidence = p.activity()
	if s.Activity != p.state.Activity || s.Kind != p.state.Kind {
		p.since = time.Now()
	}
	s.Since = p.since
	s.Mode, s.Modes = p.h.conv.Mode(), choicesOf(p.h.conv.Modes())
	s.Model, s.Models = p.h.conv.Model(), choicesOf(p.h.conv.Models())
	u := p.h.conv.Usage()
	s.Used, s.Size, s.Cost, s.Currency = u.Used, u.Size, u.Cost, u.Currency
	return s
}

func choicesOf(list []conversation.Choice) []control.Choice {
	out := make([]control.Choice, 0, len(list))
	for _, c := range list {
		out = append(out, control.Choice{ID: c.ID, Name: c.Name})
	}
	return out
}

// activity is what the agent is doing, and what that is known from.
func (p *published) activity() (state, kind, evidence string) {
	switch t := p.h.turns.open; {
	case p.h.life.phase == control.PhaseFailed && p.h.life.failure.Kind == control.FailAuth:
		return "blocked", "auth", p.h.life.failure.Message
	case p.h.life.phase != control.PhaseReady:
		return "starting", "", "the agent is " + p.h.life.phase
	case len(p.h.asks.open) > 0:
		return "blocked", p.h.asks.open[0].Kind, "the agent waits for an answer: " + p.h.asks.open[0].Title
	case p.h.turns.auth != "":
		return "blocked", "auth", p.h.turns.auth
	case t != nil && t.deaf:
		return "working", "", "the agent does not react to cancel"
	case t != nil && !t.cancelled.IsZero():
		return "working", "", "a prompt is open, and cancelled"
	case t != nil:
		return "working", "", "a prompt is open" + running(p.h.conv.Running())
	}
	return "idle", "", "no prompt is open" + lastTurn(p.h.turns.last)
}

// running says how many tools run.
func running(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; a tool call runs"
	}
	return "; " + strconv.Itoa(n) + " tool calls run"
}

// lastTurn says how the last turn ended.
func lastTurn(t *control.Turn) string {
	switch {
	case t == nil:
		return ""
	case t.Error != "":
		return "; the last turn failed: " + t.Error
	}
	return "; the last turn ended with " + t.StopReason
}

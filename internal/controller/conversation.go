package controller

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/internal/conversation"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// converse chooses the conversation of the next incarnation and records it. An agent
// over ACP begins one by itself and says which; see followTurns.
func converse(r *session.Record, s *agent.Spec, selected string) (id string, resume bool) {
	acp, by := config.IsACP(s.HostedBy(selected)), conversesBy(s, selected)
	if !resumable(r, s, selected) {
		r.Conversation, r.Conversed = "", false
	}
	r.Resumed = r.Conversation != "" && r.Conversed
	switch { // r.Epoch is the new incarnation's
	case !r.Resumed || !acp:
		r.Continues = 0
	case r.Continues == 0:
		r.Continues = r.Epoch - 1
	}
	switch {
	case r.Resumed:
	case acp:
		r.Conversation, r.ConversesBy, r.Conversed = "", by, false
	case s.Resolved.SessionIDFlag != "":
		r.Conversation, r.ConversesBy, r.Conversed = agent.NewConversation(), by, false
	case s.Resolved.ConversationFrom != "": // see seekConversation
		r.Conversation, r.ConversesBy, r.Conversed = "", by, false
	}
	return r.Conversation, r.Resumed
}

// conversesBy is the program that keeps the agent's conversations, and where: programs
// keep them on their machine.
func conversesBy(s *agent.Spec, selected string) string {
	by := s.Resolved.Provider
	if config.IsACP(s.HostedBy(selected)) {
		by += overACP
	}
	if there := s.Host(); there != "" {
		by += " on " + there
	}
	return by
}

// resumable reports whether the next incarnation may resume the recorded conversation. A
// pod takes the home directory with it.
func resumable(r *session.Record, s *agent.Spec, selected string) bool {
	return !s.InPod() && s.Resumes(s.HostedBy(selected)) && r.ConversesBy == conversesBy(s, selected)
}

// conversation is what the next incarnation would resume; "" if it would begin a new one.
func (rp *reports) conversation(ag *agentState) string {
	r := &ag.seen.Record
	if !r.Conversed || !resumable(r, ag.spec, rp.o.ProviderName) {
		return ""
	}
	return r.Conversation
}

// CarryConversation records that the agent's conversation with that id was copied to where
// the agent runs next. A different conversation is begun there otherwise.
func (c *calls) CarryConversation(ctx context.Context, q api.CarriedConversation) error {
	return c.durably(ctx, func() ([]*session.Commit, error) {
		picked, err := c.l.agents.pick([]string{q.Agent})
		if err != nil {
			return nil, err
		}
		if len(picked) != 1 || picked[0].spec == nil {
			return nil, errors.New("not one agent: " + q.Agent)
		}
		ag := picked[0]
		r := &ag.seen.Record
		if r.Conversation != q.Conversation || !r.Conversed {
			return nil, errors.New(q.Agent + " has another conversation now")
		}
		r.ConversesBy = conversesBy(ag.spec, c.l.o.ProviderName)
		return []*session.Commit{c.l.save(ag)}, nil
	})
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

// Pauses and limits of looking for a conversation.
const (
	seekPause = 5 * time.Second // while none is known
	seekAgain = time.Minute     // a person may begin another one
	seekTime  = 5 * time.Second
	seekLast  = 2 * time.Second // before the session is stopped
)

// seekConversation looks which conversation a program is in that takes no id at its start.
func (sr *starter) seekConversation(ag *agentState) {
	pause := seekPause
	if ag.seen.Record.Conversed {
		pause = seekAgain
	}
	if time.Since(ag.watch.sought) < pause || ag.watch.seeking {
		return
	}
	seek := sr.seek(ag)
	if seek == nil {
		return
	}
	ag.watch.sought, ag.watch.seeking = time.Now(), true
	sr.ops.Go(func() {
		ctx, cancel := context.WithTimeout(sr.ops.ctx, seekTime)
		defer cancel()
		seek(ctx)
		sr.post(func() { ag.watch.seeking = false })
	})
}

// seek returns a function that looks for the agent's conversation and records it; nil if
// there is nothing to look for. Without a certain answer the record stays as it is.
func (sr *starter) seek(ag *agentState) func(ctx context.Context) {
	if ag.spec == nil || ag.seen.Record.ID == "" || !resumable(&ag.seen.Record, ag.spec, sr.o.ProviderName) {
		return nil
	}
	r := &ag.spec.Resolved
	if r.ConversationFrom == "" || r.SessionIDFlag != "" || config.IsACP(ag.spec.HostedBy(sr.o.ProviderName)) {
		return nil
	}
	f := conversation.Finder{By: r.ConversationFrom, Files: r.ConversationFiles}
	id, name, started := ag.seen.Record.ID, ag.seen.Session, ag.seen.Record.Started
	return func(ctx context.Context) {
		p, ok, err := runtime.AsFor[runtime.ExecProvider](ctx, sr.p, name)
		if err != nil || !ok {
			return
		}
		out, _, err := p.Exec(ctx, name, []string{"sh", "-c", f.Command()})
		if err != nil {
			return
		}
		found := f.Parse(string(out), time.Since(started))
		sr.post(func() {
			if r := &ag.seen.Record; r.ID == id && found != "" && (r.Conversation != found || !r.Conversed) {
				r.Conversation, r.Conversed = found, true
				sr.l.save(ag)
			}
		})
	}
}

// noteNewConversation says that an agent that could resume begins a new conversation,
// since it is not known which one the incarnation before had.
func (sr *starter) noteNewConversation(ag *agentState, before session.Record) {
	r := &ag.seen.Record
	could := before.Served && before.ConversesBy == r.ConversesBy && sr.seek(ag) != nil
	if could && !r.Resumed && before.Conversation == "" {
		sr.noteAgent(ag, api.EventWarning, "conversation", "a new conversation: it is not known which one "+ag.spec.Resolved.Provider+" had before")
	}
}

// keepsConversation reports whether the conversation outlives a failed start. An
// agent over ACP begins a new one by itself if it cannot resume.
func keepsConversation(r *session.Record, err error) bool {
	return strings.Contains(r.ConversesBy, overACP) && !errors.Is(err, runtime.ErrSessionDiedDuringStartup)
}

// overACP marks the provider of a conversation that was begun over ACP: on a terminal
// the program may not find it.
const overACP = "/acp"

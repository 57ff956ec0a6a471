package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/nudge"
)

// Times of requests to an agent's host.
const (
	hostReply = 10 * time.Second // for everything but a message
	hostSent  = 15 * time.Second // for the receipt of a message that was sent
	hostStep  = 100 * time.Millisecond
)

// nudge delivers one message: to the agent's host, or typed.
func (s *session) nudge(ctx context.Context, r api.NudgeRequest) (api.Receipt, error) {
	if s.rec.Control == nil {
		return s.nudges.Once(ctx, r)
	}
	if len(r.Text) > nudge.MaxText {
		return api.Receipt{}, fmt.Errorf("%w: a nudge of %d bytes, at most %d", api.ErrTooLarge, len(r.Text), nudge.MaxText)
	}
	if r.ID != "" && r.Text == "" && len(r.Blocks) == 0 { // asks what became of it
		if outcome := s.begun(r.ID); outcome != nil {
			return outcome(ctx)
		}
		return s.nudgeAgent(ctx, r)
	}
	r.ID = cmp.Or(r.ID, rand.Text())
	return s.nudges.Send(ctx, r, func() (api.Receipt, error) {
		rec, err := s.nudgeAgent(ctx, r)
		if rec.Interrupted == api.InterruptEnded || rec.Interrupted == api.InterruptUnverified {
			s.srv.events.emit(s, api.Event{Type: api.EventInterrupted, By: r.By})
		}
		return rec, err
	})
}

// begun is nudges.Begun.
func (s *session) begun(id string) func(context.Context) (api.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nudges.Begun(id)
}

// withHost calls f with a client of the agent's host.
func (s *session) withHost(ctx context.Context, f func(h *control.Client) error) error {
	conn, err := s.dialControl(ctx)
	if err != nil {
		return err
	}
	h := control.NewClient(conn)
	defer h.Close()
	return f(h)
}

// nudgeAgent hands a message to the agent's host and waits for its receipt. The host
// takes an id once, so that a request whose connection broke is made again. An error
// means that the message's fate is the next request's with the same id.
func (s *session) nudgeAgent(ctx context.Context, r api.NudgeRequest) (api.Receipt, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.srv.lifetime.done:
			cancel(api.ErrLeaving)
		case <-ctx.Done():
		}
	}()
	inTime, stop := context.WithTimeout(ctx, cmp.Or(max(r.Timeout, 0), nudge.DefaultWait))
	defer stop()
	for {
		var rec api.Receipt
		err := s.withHost(ctx, func(h *control.Client) (err error) {
			if rec, err = askAgent(ctx, inTime, h, r); err == nil && rec.State == api.Refused {
				rec.Typed = remembers(ctx, h, r.ID, rec)
			}
			return err
		})
		var refused *control.Error
		switch {
		case err == nil:
			return rec, nil
		case errors.Is(err, api.ErrExited):
			return api.Receipt{State: api.Dead, Detail: api.ErrExited.Error()}, nil
		case context.Cause(ctx) != nil:
			return api.Receipt{}, context.Cause(ctx)
		case errors.As(err, &refused) || errors.Is(err, api.ErrNotServed):
			return api.Receipt{State: api.Refused, Detail: err.Error()}, nil
		case !errors.Is(err, control.ErrLost):
			return api.Receipt{}, err
		}
		if err := clock.Sleep(ctx, hostStep); err != nil {
			return api.Receipt{}, context.Cause(ctx)
		}
	}
}

// askAgent makes one request for a receipt. A message that still waits for the end of a
// turn when inTime ends, which ctx ends too, is taken back, unless the next server goes on.
func askAgent(ctx, inTime context.Context, h *control.Client, r api.NudgeRequest) (api.Receipt, error) {
	n := control.Nudge{ID: r.ID, Blocks: blocksOf(r), Now: r.Now, Queue: true, By: sender(r.By)}
	ask, interrupted := h.Nudge, ""
	if r.Interrupt {
		ask, interrupted = h.Redirect, api.InterruptUnverified
	}
	asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	rec, err := ask(ctx, n)
	if err != nil || rec.State != control.StateQueued {
		return receiptOf(rec), err
	}
	type result struct {
		rec control.Receipt
		err error
	}
	answer := make(chan result, 1)
	go func() {
		n.Queue = false
		rec, err := h.Nudge(asked, n)
		answer <- result{rec, err}
	}()
	select {
	case a := <-answer:
		return receiptOf(a.rec), a.err
	case <-inTime.Done():
		if errors.Is(context.Cause(ctx), api.ErrLeaving) {
			return api.Receipt{}, api.ErrLeaving
		}
	}
	back, cancelBack := context.WithTimeout(asked, hostReply)
	defer cancelBack()
	st, _ := h.State(back) // without one, it waits for a turn
	if h.TakeBack(back, r.ID) == nil {
		rec := api.Receipt{State: api.Blocked, By: api.ByTurn, Detail: "the agent is working", Interrupted: interrupted}
		if st.Pending != nil {
			rec.By, rec.Detail = api.ByQuestion, st.Pending.Prompt
		}
		return rec, nil
	}
	select { // it was sent
	case a := <-answer:
		return receiptOf(a.rec), a.err
	case <-time.After(hostSent):
		return api.Receipt{State: api.Unverified, Detail: "the agent's host does not say what became of it", Typed: true}, nil
	}
}

// blocksOf is the content of a message; nil for a question about one.
func blocksOf(r api.NudgeRequest) (out []control.Block) {
	for _, b := range r.Blocks {
		out = append(out, control.Block(b))
	}
	if out == nil && r.Text != "" {
		out = []control.Block{{Text: r.Text}}
	}
	return out
}

// remembers reports whether the host keeps a refusal as the outcome of the id: the agent
// itself refused the message, and asking again gives the same.
func remembers(ctx context.Context, h *control.Client, id string, rec api.Receipt) bool {
	again, err := h.Nudge(ctx, control.Nudge{ID: id, Queue: true}) // without content it is a question
	return err == nil && again.State == rec.State && again.Detail == rec.Detail
}

// receiptOf translates a host's receipt. Typed is set if the message is not to be sent again.
func receiptOf(r control.Receipt) api.Receipt {
	return api.Receipt{
		State: r.State, By: r.By, Detail: r.Detail, Typed: r.State == control.StateSubmitted || r.State == control.StateUnverified,
		Interrupted: r.Interrupted,
	}
}

// leftWithAgent finds out what became of a message that an earlier server handed to the
// host. One that still waits is taken back. known is false if the host has not sent it.
func (s *session) leftWithAgent(ctx context.Context, id string) (o delivery.Outcome, known bool, err error) {
	limited, cancel := context.WithTimeout(ctx, hostReply)
	defer cancel()
	err = s.withHost(limited, func(h *control.Client) error {
		rec, err := h.Nudge(limited, control.Nudge{ID: id, Queue: true}) // without content it is a question
		if err == nil && rec.State == control.StateQueued {
			if h.TakeBack(limited, id) == nil {
				o, known = delivery.Outcome{Detail: "taken back: the server was restarted before it was sent"}, true
				return nil
			}
			rec, err = h.Nudge(limited, control.Nudge{ID: id})
		}
		switch {
		case err != nil:
		case rec.State == control.StateSubmitted:
			o, known = delivery.Outcome{Result: delivery.Submitted}, true
		case rec.State == control.StateUnverified:
			o, known = delivery.Outcome{Result: delivery.Unverified, Detail: rec.Detail}, true
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		err = nil // an agent without a host has lost the message, or shows it
	}
	return o, known, err
}

// interruptAgent cancels the turn of the agent.
func (s *session) interruptAgent(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, hostReply)
	defer cancel()
	return s.withHost(limited, func(h *control.Client) error { return h.Interrupt(limited) })
}

// agentActivity returns what the agent does, with the question as its host has it.
func (s *session) agentActivity(ctx context.Context) (api.Activity, error) {
	a, err := s.activity.current(ctx)
	if err != nil || a.State != api.ActivityBlocked || a.Kind == status.Auth {
		return a, err
	}
	limited, cancel := context.WithTimeout(ctx, hostReply)
	defer cancel()
	var st control.State
	err = s.withHost(limited, func(h *control.Client) (err error) {
		st, err = h.State(limited)
		return err
	})
	if err != nil {
		return a, ctx.Err() // the report alone is also true
	}
	if a.Pending = nil; st.Pending != nil {
		q := st.Pending
		a.Kind = q.Kind
		a.Pending = &api.Pending{ID: q.RequestID, Kind: q.Kind, Prompt: q.Prompt, Options: q.Options, Selected: -1}
	}
	return a, nil
}

// sender names who sent a message, for the conversation: its session; "" is a person, or
// a program for one.
func sender(by *api.Actor) string {
	if by == nil || by.Session == "" {
		return ""
	}
	return "session " + by.Session
}

// author names who answers, for the transcript of an agent: its session, or a person.
func author(by *api.Actor) string {
	switch {
	case by == nil:
		return "unknown"
	case by.Server:
		return "multiplexer"
	case by.Session != "":
		return "session " + by.Session
	case by.Terminal == "":
		return fmt.Sprintf("process %d", by.PID)
	}
	return "person"
}

// respondAgent answers the agent's question.
func (s *session) respondAgent(ctx context.Context, r api.RespondRequest, by *api.Actor) error {
	limited, cancel := context.WithTimeout(ctx, hostReply)
	defer cancel()
	err := s.withHost(limited, func(h *control.Client) error {
		return h.Respond(limited, control.Answer{ID: r.AnswerID, RequestID: r.ID, Option: r.Action, Text: r.Text, By: author(by)})
	})
	var refused *control.Error
	if !errors.As(err, &refused) {
		return err
	}
	if len(refused.Valid) > 0 {
		return fmt.Errorf("%w: %w (%s)", api.ErrQuestion, err, strings.Join(refused.Valid, ", "))
	}
	return fmt.Errorf("%w: %w", api.ErrQuestion, err)
}

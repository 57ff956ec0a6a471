package ofmux

import (
	"context"
	"errors"
	"io"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
)

// Nudge implements [fleet.Fleet].
func (m *Mux) Nudge(ctx context.Context, id, text string) (fleet.Receipt, error) {
	c, err := m.client(ctx)
	if err != nil {
		return fleet.Receipt{}, err
	}
	r, err := c.Nudge(ctx, id, api.NudgeRequest{Text: text})
	return fleet.Receipt{State: string(r.State), By: r.By, Detail: r.Detail, Changed: r.Changed}, wrong(err)
}

// Queue implements [fleet.Fleet].
func (m *Mux) Queue(ctx context.Context, id, text string) (fleet.Message, error) {
	c, err := m.client(ctx)
	if err != nil {
		return fleet.Message{}, err
	}
	q, err := c.Enqueue(ctx, api.QueueRequest{Target: id, Text: text})
	return fleet.Message{ID: q.ID, Agent: q.Target, Text: q.Text, State: "queued", Created: q.Created}, wrong(err)
}

// Answer implements [fleet.Fleet].
func (m *Mux) Answer(ctx context.Context, id string, a fleet.Answer) error {
	c, err := m.client(ctx)
	if err != nil {
		return err
	}
	if a.Request == "" {
		return errors.Join(fleet.ErrRefused, errors.New("no question is named"))
	}
	err = c.Respond(ctx, id, api.RespondRequest{ID: a.Request, Action: a.Option, Text: a.Text})
	if errors.Is(err, api.ErrQuestion) {
		return errors.Join(fleet.ErrChanged, err)
	}
	return wrong(err)
}

// killGrace is how long a program may take to end by itself.
const killGrace = 5 * time.Second

// Do implements [fleet.Fleet].
func (m *Mux) Do(ctx context.Context, id string, a fleet.Action) error {
	c, err := m.client(ctx)
	if err != nil {
		return err
	}
	switch a {
	case fleet.Interrupt:
		return wrong(c.Interrupt(ctx, id))
	case fleet.Stop:
		return wrong(c.End(ctx, id, killGrace))
	case fleet.Seen:
		return wrong(c.Seen(ctx, id))
	}
	return fleet.ErrUnsupported
}

// CancelMessage implements [fleet.Fleet].
func (m *Mux) CancelMessage(ctx context.Context, message string) error {
	c, err := m.client(ctx)
	if err != nil {
		return err
	}
	return wrong(c.Dequeue(ctx, message))
}

// RetryMessage implements [fleet.Fleet].
func (m *Mux) RetryMessage(ctx context.Context, message string) error {
	c, err := m.client(ctx)
	if err != nil {
		return err
	}
	list, err := c.Queue(ctx, "")
	if err != nil {
		return wrong(err)
	}
	for _, q := range list {
		if q.ID != message {
			continue
		}
		if q.State != api.QueueDead {
			return errors.Join(fleet.ErrRefused, errors.New("it was not given up"))
		}
		if _, err := c.Enqueue(ctx, q.QueueRequest); err != nil {
			return wrong(err)
		}
		return wrong(c.Dequeue(ctx, message))
	}
	return fleet.ErrNotFound
}

// Explain implements [fleet.Fleet].
func (m *Mux) Explain(ctx context.Context, id string) (fleet.Explanation, error) {
	c, err := m.client(ctx)
	if err != nil {
		return fleet.Explanation{}, err
	}
	act, err := c.Activity(ctx, id)
	if err != nil {
		return fleet.Explanation{}, wrong(err)
	}
	return Explain(act), nil
}

// Explain is the evidence of an activity.
func Explain(act status.Activity) fleet.Explanation {
	doing := act.State
	if act.Kind != "" {
		doing += " (" + act.Kind + ")"
	}
	x := fleet.Explanation{Facts: []fleet.Fact{{Name: "activity", Text: doing}}}
	if act.Source != "" {
		x.Facts = append(x.Facts, fleet.Fact{Name: "because", Text: act.Source + ": " + act.Evidence})
	}
	for _, f := range act.Sources {
		x.Evidence = append(x.Evidence, fleet.Finding{Source: f.Source, State: f.State, Kind: f.Kind, Since: f.Since, Text: f.Evidence})
	}
	return x
}

// Events implements [fleet.Fleet].
func (m *Mux) Events(ctx context.Context, after string, fn func(fleet.Event) error) error {
	c, err := m.client(ctx)
	if err != nil {
		return err
	}
	if after == "" {
		st, err := c.Status(ctx)
		if err != nil {
			return wrong(err)
		}
		after = st.Epoch + ":0"
	}
	stream, err := c.Events(ctx, after)
	if err != nil {
		return wrong(err)
	}
	defer stream.Close()
	for {
		e, err := stream.Next()
		if err != nil {
			return wrong(err)
		}
		ev := fleet.Event{ID: e.ID, Time: e.Time, Kind: e.Type, Agent: e.Session, Why: e.Title, Detail: e.Text}
		if e.Exit != nil {
			ev.Why = e.Exit.Status()
		}
		if e.Receipt != nil {
			ev.Why = string(e.Receipt.State)
		}
		if err := fn(ev); err != nil {
			return err
		}
	}
}

// Recording implements [fleet.Fleet].
func (m *Mux) Recording(ctx context.Context, id string) (io.ReadCloser, error) {
	c, err := m.client(ctx)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(c.Recording(ctx, id, "asciicast", w)) }() // the reader's Close ends it
	return r, nil
}

// Commands implements [fleet.Fleet].
func (m *Mux) Commands(ctx context.Context) ([]fleet.Command, error) {
	c, err := m.client(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.ProcessList(ctx, "", true)
	if err != nil {
		return nil, wrong(err)
	}
	out := make([]fleet.Command, 0, len(list))
	for _, live := range []bool{true, false} {
		for i := range list {
			if p := &list[i]; (p.ExitCode == nil && p.Ended.IsZero()) == live {
				out = append(out, fleet.Command{ID: p.ID, Owner: p.Owner, Command: p.Command, Status: string(p.Status), Code: p.ExitCode, Started: p.Started, Ended: p.Ended})
			}
		}
	}
	return out, nil
}

// Output implements [fleet.Fleet].
func (m *Mux) Output(ctx context.Context, command string, p fleet.Page) (fleet.Output, error) {
	c, err := m.client(ctx)
	if err != nil {
		return fleet.Output{}, err
	}
	n := p.Lines
	if n <= 0 {
		n = fleet.PageLines
	}
	q := api.LogRequest{Tail: n, Limit: n}
	if p.Before > 1 {
		q.Offset = max(1, p.Before-min(p.Before-1, uint64(n)))
		q.Limit = int(p.Before - q.Offset)
	}
	log, err := c.ProcessLog(ctx, command, q)
	if err != nil {
		return fleet.Output{}, wrong(err)
	}
	out := fleet.Output{Lines: []fleet.OutputLine{}, Total: log.TotalLines, More: log.First > 1}
	for _, l := range log.Lines {
		out.Lines = append(out.Lines, fleet.OutputLine{N: l.N, Text: l.Text})
	}
	return out, nil
}

package ofcity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/session"
)

// Nudge implements [fleet.Fleet]. A session here gets it at once; one that is hosted
// elsewhere by the city's queue.
func (c *City) Nudge(ctx context.Context, id, text string) (fleet.Receipt, error) {
	name, err := c.session(ctx, id)
	if err != nil {
		return fleet.Receipt{}, err
	}
	r, err := c.sessions.Nudge(ctx, name, text)
	if errors.Is(err, fleet.ErrNotFound) || errors.Is(err, fleet.ErrAway) {
		return c.nudgeByQueue(ctx, id, text)
	}
	return r, err
}

// patience is how long a message that goes by the queue may take.
const patience = time.Minute

func (c *City) nudgeByQueue(ctx context.Context, id, text string) (fleet.Receipt, error) {
	client, err := c.controller()
	if err != nil {
		return fleet.Receipt{}, err
	}
	st, err := client.Status(ctx)
	if err != nil {
		return fleet.Receipt{}, err
	}
	n, err := client.Queue(ctx, api.QueueRequest{Agent: id, Text: text, Immediate: true})
	if err != nil {
		return fleet.Receipt{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, err = client.AwaitNudge(ctx, n, st.Seq)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fleet.Receipt{}, err
	}
	r := fleet.Receipt{State: string(n.Receipt), Detail: n.Detail, Changed: n.Changed}
	if n.Ended.IsZero() {
		r.State, r.Detail = "queued", "it waits in the queue of the city"
	}
	return r, nil
}

// Queue implements [fleet.Fleet].
func (c *City) Queue(ctx context.Context, id, text string) (fleet.Message, error) {
	client, err := c.controller()
	if err != nil {
		return fleet.Message{}, err
	}
	n, err := client.Queue(ctx, api.QueueRequest{Agent: id, Text: text})
	if err != nil {
		return fleet.Message{}, err
	}
	m, _ := messageOf(&n)
	return m, nil
}

// Do implements [fleet.Fleet].
func (c *City) Do(ctx context.Context, id string, a fleet.Action) error {
	if a == fleet.Interrupt || a == fleet.Seen {
		name, err := c.session(ctx, id)
		if err != nil {
			return err
		}
		return elsewhere(c.sessions.Do(ctx, name, a))
	}
	client, err := c.controller()
	if err != nil {
		return err
	}
	switch a {
	case fleet.Restart, fleet.Start:
		return client.Restart(ctx, id)
	case fleet.Stop:
		return client.StopAgents(ctx, id)
	case fleet.Suspend:
		return client.Suspend(ctx, id)
	case fleet.Resume:
		return client.Resume(ctx, id)
	}
	return fleet.ErrUnsupported
}

// CancelMessage implements [fleet.Fleet].
func (c *City) CancelMessage(ctx context.Context, message string) error {
	client, err := c.controller()
	if err != nil {
		return err
	}
	return client.DropNudge(ctx, message)
}

// RetryMessage implements [fleet.Fleet].
func (c *City) RetryMessage(ctx context.Context, message string) error {
	client, err := c.controller()
	if err != nil {
		return err
	}
	list, err := client.Nudges(ctx)
	if err != nil {
		return err
	}
	for _, n := range list {
		if n.ID != message {
			continue
		}
		if n.State != session.NudgeDead {
			return fmt.Errorf("the message was not given up: %w", fleet.ErrRefused)
		}
		if _, err := client.Queue(ctx, api.QueueRequest{Agent: n.Agent, Text: n.Text, Immediate: n.Immediate, Raw: n.Raw}); err != nil {
			return err
		}
		return client.DropNudge(ctx, message)
	}
	return fleet.ErrNotFound
}

// Explain implements [fleet.Fleet].
func (c *City) Explain(ctx context.Context, id string) (fleet.Explanation, error) {
	client, err := c.controller()
	if err != nil {
		return fleet.Explanation{}, err
	}
	st, err := client.Status(ctx)
	if err != nil {
		return fleet.Explanation{}, err
	}
	for i := range st.Agents {
		s := &st.Agents[i]
		if s.Name != id {
			continue
		}
		x := fleet.Explanation{Facts: facts(s)}
		if more, err := c.sessions.Explain(ctx, s.Session); err == nil { // none if it is hosted elsewhere
			x.Facts, x.Evidence = append(x.Facts, more.Facts...), more.Evidence
		}
		return x, nil
	}
	return fleet.Explanation{}, fleet.ErrNotFound
}

// facts are what the controller knows of an agent.
func facts(s *api.AgentStatus) []fleet.Fact {
	exit, retry := "", ""
	if s.LastExit != nil {
		exit = s.LastExit.Text()
	}
	if s.RetryAt != nil {
		retry = s.RetryAt.Format(time.RFC3339)
	}
	var out []fleet.Fact
	for _, f := range []fleet.Fact{
		{Name: "state", Text: string(s.State)}, {Name: "suspended by", Text: s.SuspendedBy}, {Name: "error", Text: s.Error}, {Name: "warning", Text: s.Warning},
		{Name: "waits for", Text: s.WaitsFor}, {Name: "last exit", Text: exit}, {Name: "next try", Text: retry}, {Name: "hint", Text: s.Hint},
		{Name: "session", Text: s.Session}, {Name: "host", Text: s.Host}, {Name: "permissions", Text: s.Permissions},
	} {
		if f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// elsewhere says that a session which is not here is hosted by something else.
func elsewhere(err error) error {
	if errors.Is(err, fleet.ErrNotFound) {
		return fmt.Errorf("its session is not in this machine's multiplexer: %w", fleet.ErrUnsupported)
	}
	return err
}

// Answer implements [fleet.Fleet].
func (c *City) Answer(ctx context.Context, id string, a fleet.Answer) error {
	name, err := c.session(ctx, id)
	if err != nil {
		return err
	}
	return elsewhere(c.sessions.Answer(ctx, name, a))
}

// Attach implements [fleet.Fleet].
func (c *City) Attach(ctx context.Context, id string, o fleet.AttachOptions) (fleet.Terminal, error) {
	name, err := c.session(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := c.sessions.Attach(ctx, name, o)
	return t, elsewhere(err)
}

// History implements [fleet.Fleet].
func (c *City) History(ctx context.Context, id string, p fleet.Page) (fleet.History, error) {
	name, err := c.session(ctx, id)
	if err != nil {
		return fleet.History{}, err
	}
	h, err := c.sessions.History(ctx, name, p)
	return h, elsewhere(err)
}

// Load implements [fleet.Fleet].
func (c *City) Load(ctx context.Context) (fleet.Load, error) { return c.sessions.Load(ctx) }

// Recording implements [fleet.Fleet].
func (c *City) Recording(ctx context.Context, id string) (io.ReadCloser, error) {
	name, err := c.session(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := c.sessions.Recording(ctx, name)
	return r, elsewhere(err)
}

// Commands implements [fleet.Fleet].
func (c *City) Commands(ctx context.Context) ([]fleet.Command, error) {
	list, err := c.sessions.Commands(ctx)
	for i := range list {
		list[i].Owner = c.agent(list[i].Owner)
	}
	return list, err
}

// Output implements [fleet.Fleet].
func (c *City) Output(ctx context.Context, command string, p fleet.Page) (fleet.Output, error) {
	return c.sessions.Output(ctx, command, p)
}

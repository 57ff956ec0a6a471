package native

import (
	"context"
	"crypto/rand"
	"fmt"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// Activity implements runtime.ActivityProvider.
func (p *Provider) Activity(ctx context.Context, name string) (runtime.Activity, error) {
	a, err := p.activity(ctx, name, (*client.Client).Activity)
	if err != nil {
		return runtime.Activity{}, fmt.Errorf("activity of %s: %w", name, err)
	}
	out := activityOf(a)
	out = p.hereAll(ctx, out)
	for _, s := range a.Sources {
		s.Since = p.here(ctx, s.Since)
		out.Sources = append(out.Sources, runtime.ActivitySource(s))
	}
	return out, nil
}

// Seen implements runtime.SeenProvider.
func (p *Provider) Seen(ctx context.Context, name string) error {
	info, err := p.live(ctx, name)
	if err == nil {
		err = p.send(ctx, func(c *client.Client) error { return c.Seen(ctx, info.ID) })
	}
	if err != nil {
		return fmt.Errorf("seen %s: %w", name, err)
	}
	return nil
}

// activityOf converts an activity, without its sources.
func activityOf(a api.Activity) runtime.Activity {
	var work []runtime.Work
	for _, w := range a.Background {
		work = append(work, runtime.Work(w))
	}
	return runtime.Activity{
		Background: work,
		State:      a.State, Kind: a.Kind, Source: a.Source, Evidence: a.Evidence, Since: a.Since, Message: a.Message, Pending: interaction(a.Pending),
		Limit: (*runtime.Limit)(a.Limit),
	}
}

// hereAll converts the times of an activity to this machine's clock.
func (p *Provider) hereAll(ctx context.Context, a runtime.Activity) runtime.Activity {
	a.Since = p.here(ctx, a.Since)
	for i := range a.Background {
		a.Background[i].Since = p.here(ctx, a.Background[i].Since)
	}
	if a.Limit != nil {
		l := *a.Limit
		l.Until = p.here(ctx, l.Until)
		a.Limit = &l
	}
	return a
}

// Activities implements runtime.ManyActivities.
func (p *Provider) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	var list []api.SessionActivity
	err := p.query(ctx, func(c *client.Client) (err error) {
		list, err = c.Activities(ctx, names)
		return err
	})
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("activities: %w", err)
	}
	out := make(map[string]runtime.SessionActivity, len(list))
	for _, s := range list {
		last := s.LastOutput
		if s.LastInput.After(last) {
			last = s.LastInput
		}
		a := activityOf(s.Activity)
		a = p.hereAll(ctx, a)
		out[s.Name] = runtime.SessionActivity{Activity: a, Last: p.here(ctx, last)}
	}
	return out, nil
}

func (p *Provider) activity(ctx context.Context, name string, ask func(*client.Client, context.Context, string) (api.Activity, error)) (a api.Activity, err error) {
	info, err := p.get(ctx, name)
	if err != nil {
		return a, err
	}
	err = p.query(ctx, func(c *client.Client) (err error) {
		a, err = ask(c, ctx, info.ID)
		return err
	})
	return a, err
}

// interaction converts a question.
func interaction(q *api.Pending) *runtime.Interaction {
	if q == nil {
		return nil
	}
	i := &runtime.Interaction{RequestID: q.ID, Kind: q.Kind, Prompt: q.Prompt, Options: q.Options, Metadata: map[string]string{}}
	for key, value := range map[string]string{"context": q.Context, "marked": q.Marked, "dialog": q.Dialog} {
		if value != "" {
			i.Metadata[key] = value
		}
	}
	return i
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(ctx context.Context, name string) (*runtime.Interaction, error) {
	a, err := p.activity(ctx, name, (*client.Client).Question)
	if err == nil && a.State == api.ActivityExited {
		err = runtime.ErrSessionNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("question of %s: %w", name, err)
	}
	return interaction(a.Pending), nil
}

// Respond implements runtime.InteractionProvider. The answer must be one of the
// options; a question for text is answered with a nudge, or with text if the session has
// a control socket.
func (p *Provider) Respond(ctx context.Context, name string, a runtime.Answer) error {
	info, err := p.live(ctx, name)
	r := api.RespondRequest{ID: a.RequestID, Action: a.Action}
	answer := func(c *client.Client) error { return c.Respond(ctx, info.ID, r) }
	switch {
	case err != nil:
	case info.Control: // the program knows the answer's id
		r.Text, r.AnswerID = a.Text, rand.Text()
		err = p.query(ctx, answer)
	case a.Text != "":
		err = fmt.Errorf("text: %w", runtime.ErrInteractionUnsupported)
	default:
		err = p.send(ctx, answer)
	}
	if err != nil {
		return fmt.Errorf("answer %s: %w", name, err)
	}
	return nil
}

// SeenAlive implements runtime.ManyProcesses.
func (p *Provider) SeenAlive(ctx context.Context, names map[string][]string) ([]string, error) {
	rs := make([]api.AliveRequest, 0, len(names))
	for name, list := range names {
		rs = append(rs, api.AliveRequest{Name: name, Names: list})
	}
	var alive []string
	err := p.query(ctx, func(c *client.Client) (err error) {
		alive, err = c.AliveMany(ctx, rs)
		return err
	})
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("processes: %w", err)
	}
	return alive, nil
}

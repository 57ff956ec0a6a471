package ofmux

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// The states of a session.
const (
	running = "running"
	exited  = "exited"
)

// snapshot asks for everything that is shown of the sessions.
func (m *Mux) snapshot(ctx context.Context, c *client.Client) (fleet.Snapshot, error) {
	s := fleet.Snapshot{Name: m.name, Host: m.host, Time: time.Now(), Agents: []fleet.Agent{}, Attention: []fleet.Attention{}, Messages: []fleet.Message{}}
	list, err := c.List(ctx, "", true)
	if err != nil {
		return s, err
	}
	list = newest(list)
	var names []string
	for i := range list {
		if list[i].State == api.StateRunning {
			names = append(names, list[i].Name)
		}
	}
	activities := map[string]api.SessionActivity{}
	if len(names) > 0 {
		all, err := c.Activities(ctx, names)
		if err != nil {
			return s, err
		}
		for _, a := range all {
			activities[a.Name] = a
		}
	}
	last, err := m.lastLines(ctx, c, names)
	if err != nil {
		return s, err
	}
	if err := m.addMessages(ctx, c, &s); err != nil {
		return s, err
	}
	for i := range list {
		a := agentOf(&list[i])
		a.LastLine = last[a.Session]
		if act, ok := activities[list[i].Name]; ok {
			ShowActivity(&a, &act.Activity)
		}
		for _, msg := range s.Messages {
			if msg.Agent == a.ID && msg.State != "dead" {
				a.Queued++
			}
		}
		s.Agents = append(s.Agents, a)
		s.Attention = append(s.Attention, needs(&a)...)
	}
	for _, msg := range s.Messages {
		if msg.State == "dead" {
			s.Attention = append(s.Attention, fleet.Attention{
				ID: "dead-letter/" + msg.ID, Kind: "dead-letter", Agent: msg.Agent, Since: msg.Ended, Text: cmp.Or(msg.Detail, msg.Text), Message: msg.ID,
			})
		}
	}
	slices.SortStableFunc(s.Attention, func(a, b fleet.Attention) int { return a.Since.Compare(b.Since) })
	return s, nil
}

// newest returns the sessions without background commands, and of each name only the newest
// one: ended ones are kept for a while.
func newest(list []api.SessionInfo) []api.SessionInfo {
	at := map[string]int{}
	var out []api.SessionInfo
	for _, i := range list {
		if i.Kind != "" {
			continue
		}
		n, known := at[i.Name]
		switch {
		case !known:
			at[i.Name] = len(out)
			out = append(out, i)
		case out[n].State != api.StateRunning && (i.State == api.StateRunning || i.Started.After(out[n].Started)):
			out[n] = i
		}
	}
	return out
}

func agentOf(i *api.SessionInfo) fleet.Agent {
	a := fleet.Agent{
		ID: i.Name, Name: i.Name, Session: i.Name, Incarnation: i.ID, Provider: program(i.Command),
		State: running, Status: status.Unknown, Since: i.Started, Start: i.Started, Active: later(i.LastInput, i.LastOutput), Title: i.Title,
		Attached: i.Attached, Recording: i.Recording, Can: []fleet.Action{fleet.Interrupt, fleet.Stop},
	}
	if i.State != api.StateRunning {
		a.State, a.Status, a.Can = exited, exited, []fleet.Action{}
		if i.Exit != nil {
			a.Exit = i.Exit.Status()
			if !i.Exit.Time.IsZero() {
				a.Since = i.Exit.Time
			}
		}
	}
	return a
}

// program is the name of the program of a command.
func program(command string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(command, "exec "), " ")
	return strings.Trim(name[strings.LastIndexByte(name, '/')+1:], `'"`)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ShowActivity puts what a session does into its agent.
func ShowActivity(a *fleet.Agent, act *api.Activity) {
	a.Status, a.Kind, a.Source, a.Why, a.Message = act.State, act.Kind, act.Source, act.Evidence, act.Message
	if !act.Since.IsZero() {
		a.Since = act.Since
	}
	if act.Limit != nil {
		a.Limited, a.LimitedTil = act.Limit.Text, act.Limit.Until
	}
	for _, w := range act.Background {
		a.Background = append(a.Background, cmp.Or(w.Text, w.ID))
	}
	if p := act.Pending; p != nil {
		a.Question = &fleet.Question{Request: p.ID, Kind: p.Kind, Prompt: p.Prompt, Context: p.Context, Options: p.Options, Marked: p.Marked}
	}
	if act.State == status.Done {
		a.Can = append(a.Can, fleet.Seen)
	}
}

// needs is what of a session needs somebody; the kinds are those of gc attention.
func needs(a *fleet.Agent) []fleet.Attention {
	if a.State != running {
		return nil
	}
	n := fleet.Attention{Agent: a.ID, Since: a.Since, Text: cmp.Or(a.Message, a.Why)}
	switch {
	case a.Limited != "":
		n.Kind, n.Text, n.Until = "limited", a.Limited, a.LimitedTil
	case a.Status == status.Blocked && a.Kind == status.Auth:
		n.Kind = "login"
	case a.Status == status.Blocked:
		n.Kind = "question"
	case a.Status == status.Error, a.Status == status.Done, a.Status == "stuck":
		n.Kind = a.Status
	default:
		return nil
	}
	which := a.Since.UTC().Format(time.RFC3339Nano)
	if a.Question != nil {
		n.Text, which = a.Question.Prompt, a.Question.Request
	}
	n.ID = n.Kind + "/" + a.Incarnation + "/" + which
	return []fleet.Attention{n}
}

// addMessages adds the messages in the queue of the multiplexer.
func (m *Mux) addMessages(ctx context.Context, c *client.Client, s *fleet.Snapshot) error {
	list, err := c.Queue(ctx, "")
	if err != nil {
		return err
	}
	states := map[string]string{api.QueueWaiting: "queued", api.QueueLeased: "delivering", api.QueueDead: "dead"}
	for _, q := range list {
		if state := states[q.State]; state != "" {
			s.Messages = append(s.Messages, fleet.Message{ID: q.ID, Agent: q.Target, Text: q.Text, State: state, Detail: q.Detail, Created: q.Created, Ended: q.Done})
		}
	}
	return nil
}

// oneLine is the last error of several, without line ends.
func oneLine(err error) string {
	text := err.Error()
	return text[strings.LastIndexByte(text, '\n')+1:]
}

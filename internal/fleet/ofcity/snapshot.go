package ofcity

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// snapshot asks for everything that is shown of the city, and returns the number of its
// newest event.
func (c *City) snapshot(ctx context.Context, client *api.Client) (fleet.Snapshot, uint64, error) {
	st, err := client.Status(ctx)
	if err != nil {
		return fleet.Snapshot{}, 0, err
	}
	attention, err := client.Attention(ctx)
	if err != nil {
		return fleet.Snapshot{}, 0, err
	}
	nudges, err := client.Nudges(ctx)
	if err != nil {
		return fleet.Snapshot{}, 0, err
	}
	s := fleet.Snapshot{
		Name: cmp.Or(st.City, filepath.Base(st.CityPath)), City: st.CityPath, Time: time.Now(), Warning: cmp.Or(st.ConfigError, st.StoreError),
		Agents: []fleet.Agent{}, Attention: []fleet.Attention{}, Messages: []fleet.Message{},
	}
	queued := map[string]int{}
	for i := range nudges {
		if m, ok := messageOf(&nudges[i]); ok {
			s.Messages = append(s.Messages, m)
			if m.State != string(session.NudgeDead) {
				queued[m.Agent]++
			}
		}
	}
	for i := range st.Agents {
		a := agentOf(&st.Agents[i], st.Rigs)
		a.Queued = queued[a.ID]
		s.Agents = append(s.Agents, a)
	}
	c.addShown(ctx, s.Agents)
	for i := range attention {
		s.Attention = append(s.Attention, needOf(&attention[i]))
	}
	c.settle(s.Agents)
	return s, st.Seq, nil
}

// addShown adds what only the multiplexer knows of the agents on this machine. Without an
// answer from it there is nothing.
func (c *City) addShown(ctx context.Context, agents []fleet.Agent) {
	p, ok := c.sessions.(interface {
		Shown(ctx context.Context, sessions []string) (map[string]fleet.Shown, error)
	})
	if !ok {
		return
	}
	var sessions []string
	for i := range agents {
		if a := &agents[i]; a.State == string(api.StateRunning) && a.Host == "" {
			sessions = append(sessions, a.Session)
		}
	}
	shown, err := p.Shown(ctx, sessions)
	if err != nil {
		return
	}
	for i := range agents {
		a := &agents[i]
		s, ok := shown[a.Session]
		if !ok || a.Host != "" {
			continue
		}
		a.Incarnation, a.Title, a.Attached, a.Recording = s.Incarnation, s.Title, s.Attached, s.Recording
		a.LastLine = cmp.Or(a.LastLine, s.LastLine)
	}
}

func messageOf(n *session.Nudge) (fleet.Message, bool) {
	m := fleet.Message{ID: n.ID, Agent: n.Agent, Text: n.Text, State: string(n.State), By: n.By, Detail: n.Detail, Created: n.Created, Ended: n.Ended}
	return m, slices.Contains([]session.NudgeState{session.NudgeQueued, session.NudgeDelivering, session.NudgeDead}, n.State)
}

func needOf(a *api.Attention) fleet.Attention {
	n := fleet.Attention{ID: a.ID, Kind: a.Kind, Agent: a.Agent, Since: a.Since, Until: a.Until, Text: a.Text, Hint: a.Hint}
	if a.Kind == api.AttentionDeadLetter {
		n.Message = strings.TrimPrefix(a.ID, api.AttentionDeadLetter+"/")
	}
	return n
}

// agentOf is an agent as it is shown.
func agentOf(s *api.AgentStatus, rigs []api.RigStatus) fleet.Agent {
	a := fleet.Agent{
		ID: s.Name, Name: s.Name, Session: s.Session, Pool: s.Pool, Provider: s.Provider, Host: s.Host, Description: s.Description,
		State: string(s.State), Status: s.Activity, Since: value(s.Since), Start: value(s.Started), Active: value(s.LastActivity),
		Restarts: s.Restarts, LastLine: s.LastLine, Error: cmp.Or(s.Error, s.Warning), Hint: s.Hint, By: s.SuspendedBy, Can: can(s),
	}
	if rig, _, ok := strings.Cut(s.Name, "/"); ok && slices.ContainsFunc(rigs, func(r api.RigStatus) bool { return r.Name == rig }) {
		a.Rig = rig
	}
	if s.LastExit != nil {
		a.Exit = s.LastExit.Text()
	}
	if s.WaitsFor != "" && a.Error == "" {
		a.Error = "waits for " + s.WaitsFor
	}
	if s.State == api.StateUnknown {
		a.Seen = a.Since
	}
	if s.ActivityInfo != nil && s.State == api.StateRunning {
		showActivity(&a, s.ActivityInfo)
	}
	return a
}

func showActivity(a *fleet.Agent, act *runtime.Activity) {
	a.Status, a.Kind, a.Source, a.Why, a.Message = cmp.Or(act.State, a.Status), act.Kind, act.Source, act.Evidence, act.Message
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
		a.Question = &fleet.Question{
			Request: p.RequestID, Kind: p.Kind, Prompt: p.Prompt, Context: p.Metadata["context"], Options: p.Options, Marked: p.Metadata["marked"],
			Text: len(p.Options) == 0 && p.Kind != runtime.BlockedAuth || p.Metadata["text"] != "",
		}
	}
	if act.State == runtime.ActivityDone {
		a.Can = append(a.Can, fleet.Seen)
	}
}

// can is what an agent accepts in its state.
func can(s *api.AgentStatus) []fleet.Action {
	switch s.State {
	case api.StateRunning:
		return []fleet.Action{fleet.Interrupt, fleet.Restart, fleet.Stop, fleet.Suspend}
	case api.StateStarting, api.StateDraining, api.StateUnknown:
		return []fleet.Action{fleet.Restart, fleet.Stop, fleet.Suspend}
	case api.StateSuspended:
		if s.SuspendedBy == api.ByAgent {
			return []fleet.Action{fleet.Resume}
		}
		return []fleet.Action{} // a rig, a pool or the city is resumed as a whole
	}
	return []fleet.Action{fleet.Start, fleet.Suspend}
}

func value(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

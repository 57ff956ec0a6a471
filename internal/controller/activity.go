package controller

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// activityTimeout bounds the queries for one status.
const activityTimeout = time.Second

// activities returns what sessions are doing, when they last had input or output
// and, where each must be queried alone, the last line of the screen. Sessions
// that do not reply in time are missing.
func activities(ctx context.Context, p runtime.Provider, names []string) map[string]runtime.SessionActivity {
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	out := make(map[string]runtime.SessionActivity, len(names))
	if many, ok := runtime.As[runtime.ManyActivities](p); ok {
		list, err := many.Activities(ctx, names)
		maps.Copy(out, list)
		if err == nil && len(list) == len(names) {
			return out
		}
	}
	var mu sync.Mutex
	parallel(len(names), func(i int) {
		mu.Lock()
		_, known := out[names[i]]
		mu.Unlock()
		if known {
			return
		}
		if a, err := query.ActivityOf(ctx, p, names[i]); err == nil {
			if text, err := p.Peek(ctx, names[i], 1); err == nil {
				a.Line = strings.TrimSpace(runtime.LastLines(text, 1))
			}
			mu.Lock()
			out[names[i]] = a
			mu.Unlock()
		}
	})
	return out
}

// Status returns the status with what the agents are doing now.
func (c *calls) Status(ctx context.Context) (api.Status, error) {
	ids := map[string]string{}
	var names []string
	if err := c.do(ctx, func() {
		for name, ag := range c.l.agents.all {
			if ag.hasScreen() {
				names, ids[name] = append(names, name), ag.seen.Record.ID
			}
		}
	}); err != nil {
		return api.Status{}, err
	}
	latest := activities(ctx, c.p, names)
	var st api.Status
	err := c.do(ctx, func() {
		for name, a := range latest {
			if ag := c.l.agents.all[name]; ag != nil && ag.hasScreen() && ag.seen.Record.ID == ids[name] {
				ag.shown.activity = a
			}
		}
		st = c.l.report.status()
		for name := range latest { // outdated by the next query
			if ag := c.l.agents.all[name]; ag != nil {
				ag.shown.activity = runtime.SessionActivity{}
			}
		}
	})
	return st, err
}

// Hosting implements api.City.
func (c *calls) Hosting(ctx context.Context) (api.Hosting, error) {
	var h api.Hosting
	err := c.do(ctx, func() { h.SessionProvider = c.l.report.o.ProviderName })
	return h, err
}

// runningNames returns the running sessions of this city.
func (g *goal) runningNames() []string {
	var names []string
	for name, ag := range g.l.agents.all {
		if ag.seen.Presence == plan.Alive && !ag.foreign {
			names = append(names, name)
		}
	}
	return names
}

// showActivities fills in what the agents are doing.
func showActivities(agents []api.AgentStatus, latest map[string]runtime.SessionActivity) {
	for i := range agents {
		if a, ok := latest[agents[i].Session]; ok {
			show(&agents[i], a.Activity)
		}
	}
}

// show fills in one activity.
func show(a *api.AgentStatus, info runtime.Activity) {
	a.Activity = info.State
	if info.State != runtime.ActivityUnknown || len(info.Background) > 0 {
		a.ActivityInfo = &info
	}
}

// hasScreen reports whether the agent has a session of this city, or is about to
// have one, that can be asked for its activity.
func (ag *agentState) hasScreen() bool {
	return (ag.seen.Presence == plan.Alive || ag.op.name == opStart || ag.op.name == opConfirm) && !ag.foreign
}

// showActivity fills in what the agent is doing. A start that waits for an
// answer to a dialog is blocked.
func (ag *agentState) showActivity(a *api.AgentStatus) {
	a.Activity = runtime.ActivityUnknown
	switch {
	case a.State == api.StateStarting && ag.shown.activity.State != runtime.ActivityBlocked:
		a.Activity = runtime.ActivityStarting
	case ag.seen.Presence == plan.Gone && ag.op.name == "" && ag.seen.Record.NeedsLogin:
		show(a, runtime.Activity{State: runtime.ActivityBlocked, Kind: runtime.BlockedAuth, Evidence: ag.seen.Record.LastError})
	case ag.seen.Presence == plan.Gone && ag.op.name == "":
		if ag.seen.Record.LastExit != nil || ag.seen.Record.Job.Done {
			a.Activity = runtime.ActivityExited
		}
	case ag.shown.activity.State != "":
		show(a, ag.shown.activity.Activity)
	}
	if a.ActivityInfo != nil && a.ActivityInfo.Kind == runtime.BlockedAuth && a.Hint == "" {
		a.Hint = api.LoginHint(ag.name())
	}
	a.LastLine = ag.shown.activity.Line
	last := ag.shown.activity.Last
	if last.IsZero() {
		last = ag.seen.LastActivity
	}
	if !last.IsZero() && ag.seen.Presence == plan.Alive {
		a.LastActivity = &last
	}
}

// noteQuiet records the time of a session's last input or output on the
// monotonic clock, which cannot be set. A time that was seen before keeps its
// distance from now.
func (ag *agentState) noteQuiet(last, asked time.Time) {
	if last.Equal(ag.watch.lastActivity) {
		return
	}
	ag.watch.lastActivity = last
	if last.IsZero() {
		ag.seen.LastActivity = time.Time{}
		return
	}
	at := asked.Add(-max(asked.Sub(last), 0)) // monotonic, as asked is
	if at.After(ag.seen.LastActivity) {
		ag.seen.LastActivity = at
	}
}

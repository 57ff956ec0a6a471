package outside

import (
	"context"
	"errors"
	"os"
	"slices"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// Status is the status of a city without a controller: what provider p
// knows about its agents. providerName is the name of p.
func Status(ctx context.Context, city *config.City, p runtime.Provider, providerName string, build agent.BuildOptions) (api.Status, error) {
	status := api.Status{City: city.Name(), CityPath: city.Dir, SessionProvider: providerName, Agents: []api.AgentStatus{}}
	_, err := os.Stat(api.StateDir(city.Dir))
	started := !errors.Is(err, os.ErrNotExist) // else no running session is this city's
	var running []string
	if started {
		running, _ = p.ListRunning(ctx, "") // a failure shows at each agent
	}
	specs, err := agent.Members(city, build, func(session string) bool { return slices.Contains(running, session) })
	if err != nil {
		return status, err
	}
	for _, s := range specs {
		ag := downStatus(s)
		if started && !foreignSession(ctx, p, s) {
			ag.Session = s.Session
			observeOffline(ctx, p, s, &ag)
		}
		status.Agents = append(status.Agents, ag)
	}
	return status, nil
}

// foreignSession reports whether the session belongs to another city.
func foreignSession(ctx context.Context, p runtime.Provider, s *agent.Spec) bool {
	owner, err := p.GetMeta(ctx, s.Session, agent.MetaCityPath)
	return err == nil && owner != "" && owner != s.City.Dir && owner != config.MovedFrom(s.City.Dir)
}

// downStatus is the status of an agent without a session. It does not name the
// session, because another city's session may have that name.
func downStatus(s *agent.Spec) api.AgentStatus {
	ag := api.AgentStatus{
		Name: s.Name(), Provider: s.Resolved.Provider, Description: s.Resolved.Description, Host: s.Host(),
		State: api.StateStopped, Activity: runtime.ActivityUnknown, OneShot: s.Config.Lifecycle == runtime.OneShot,
	}
	if s.Resolved.Suspended {
		ag.State = api.StateSuspended
	}
	return ag
}

// observeOffline fills in what the provider knows about the agent's session.
func observeOffline(ctx context.Context, p runtime.Provider, s *agent.Spec, ag *api.AgentStatus) {
	live, err := runtime.ObserveLiveness(ctx, p, s.Session, s.Config.ProcessNames)
	switch {
	case err != nil:
		ag.State, ag.Error = api.StateUnknown, err.Error()
	case live == runtime.Alive:
		ag.State = api.StateRunning
		if w, ok := runtime.As[runtime.ActivityProvider](p); ok {
			if info, err := w.Activity(ctx, s.Session); err == nil {
				info.Sources = nil
				ag.Activity, ag.ActivityInfo = info.State, &info
			}
		}
	case live == runtime.Zombie:
		ag.State = api.StateCrashed
	}
	if at, err := p.GetLastActivity(ctx, s.Session); err == nil && !at.IsZero() {
		ag.LastActivity = &at
	}
	if r, ok, err := runtime.AsFor[runtime.ExitReporter](ctx, p, s.Session); ok && err == nil {
		ag.LastExit, _ = r.LastExit(ctx, s.Session) // unknown is nil
	}
}

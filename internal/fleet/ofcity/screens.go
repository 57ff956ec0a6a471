package ofcity

import (
	"context"
	"sync"

	"gascity.dev/gc/internal/screens"
)

// Screens implements [fleet.Fleet].
func (c *City) Screens(ctx context.Context) (screens.Viewer, error) {
	v, err := c.sessions.Screens(ctx)
	if err != nil {
		return nil, err
	}
	return &viewer{city: c, sessions: v, agents: map[string]string{}}, nil
}

// viewer looks at the sessions of agents.
type viewer struct {
	city     *City
	sessions screens.Viewer

	mu     sync.Mutex        // guards agents
	agents map[string]string // session to the agent that is looked at
}

// Look implements [screens.Viewer]. An agent that the city does not have yet is looked
// at by its own name, which no session has.
func (v *viewer) Look(looks []screens.Look) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxPause)
	defer cancel()
	agents := make(map[string]string, len(looks))
	mapped := make([]screens.Look, 0, len(looks))
	for _, l := range looks {
		id := l.ID
		if name, err := v.city.session(ctx, id); err == nil && name != "" {
			l.ID = name
		}
		agents[l.ID] = id
		mapped = append(mapped, l)
	}
	v.mu.Lock()
	v.agents = agents
	v.mu.Unlock()
	return v.sessions.Look(mapped)
}

// Next implements [screens.Viewer].
func (v *viewer) Next() (screens.Update, error) {
	for {
		u, err := v.sessions.Next()
		if err != nil {
			return u, err
		}
		v.mu.Lock()
		id, looked := v.agents[u.ID]
		v.mu.Unlock()
		if !looked {
			continue // it was looked at before
		}
		u.ID = id
		if u.State == screens.Gone && u.Why == "" {
			u.Why = "its session is not in this machine's multiplexer"
		}
		return u, nil
	}
}

func (v *viewer) Close() error { return v.sessions.Close() }

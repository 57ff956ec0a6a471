package ofcity

import (
	"context"
	"slices"
	"sync"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
)

// Screens implements [fleet.Fleet].
func (c *City) Screens(ctx context.Context) (screens.Viewer, error) {
	inner, err := c.sessions.Screens(ctx)
	if err != nil {
		return nil, err
	}
	v := &viewer{city: c, sessions: inner, agents: map[string]string{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewers[v] = true
	return v, nil
}

// viewer looks at the sessions of agents.
type viewer struct {
	city     *City
	sessions screens.Viewer

	looking sync.Mutex // held during Look; guards looks
	looks   []screens.Look

	mu     sync.Mutex        // guards agents
	agents map[string]string // session to the agent that is looked at
}

// Look implements [screens.Viewer]. An agent that the city does not have yet is looked
// at by its own name, which no session has.
func (v *viewer) Look(looks []screens.Look) error {
	v.looking.Lock()
	defer v.looking.Unlock()
	v.looks = slices.Clone(looks)
	return v.look()
}

// look looks at the sessions that the agents have now. looking is held.
func (v *viewer) look() error {
	ctx, cancel := context.WithTimeout(context.Background(), maxPause)
	defer cancel()
	agents := make(map[string]string, len(v.looks))
	mapped := make([]screens.Look, 0, len(v.looks))
	for _, l := range v.looks {
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

// Close implements [screens.Viewer].
func (v *viewer) Close() error {
	v.city.mu.Lock()
	delete(v.city.viewers, v)
	v.city.mu.Unlock()
	return v.sessions.Close()
}

// place is where an agent's screen is.
type place struct{ session, incarnation, host, provider string }

// settle notes where the agents of the newest status are, and lets the viewers look there if
// that has changed: an agent was moved to another machine, or began to run.
func (c *City) settle(agents []fleet.Agent) {
	places := make(map[string]place, len(agents))
	for i := range agents {
		a := &agents[i]
		places[a.ID] = place{a.Session, a.Incarnation, a.Host, a.Provider}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var moved []string
	for id, is := range places {
		if was, known := c.places[id]; c.places != nil && (!known || was != is) {
			moved = append(moved, id)
		}
	}
	c.places = places
	if len(moved) == 0 || c.closed {
		return
	}
	for v := range c.viewers {
		c.work.Go(func() { v.follow(moved) })
	}
}

// follow looks again if one of the agents is looked at.
func (v *viewer) follow(moved []string) {
	v.looking.Lock()
	defer v.looking.Unlock()
	if slices.ContainsFunc(v.looks, func(l screens.Look) bool { return slices.Contains(moved, l.ID) }) {
		_ = v.look() // if it failed, Next fails, too
	}
}

// Package ofcity is the fleet of a city: what its controller says of its agents, and
// their screens by the multiplexer that hosts them. It implements [fleet.Fleet], polls
// nothing, and keeps nothing that must last. cmd/gc-ui opens it.
//
// Screens, terminals, histories and answers are those of sessions of this machine's
// multiplexer. Agents that another provider or machine hosts have none here yet;
// everything else works for them, too.
package ofcity

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/fleet"
)

// City is the fleet of a city. Use [Open].
type City struct {
	dir      string
	sessions fleet.Fleet

	work sync.WaitGroup // of viewers

	mu      sync.Mutex // guards all below
	closed  bool
	client  *api.Client
	places  map[string]place // of agents, as the newest status said; nil before the first
	viewers map[*viewer]bool
}

var _ fleet.Fleet = (*City)(nil)

// Open returns the fleet of the city in dir. sessions is that of the multiplexer which
// hosts its agents; Close closes it.
func Open(dir string, sessions fleet.Fleet) *City {
	return &City{dir: dir, sessions: sessions, viewers: map[*viewer]bool{}}
}

// Close implements [fleet.Fleet].
func (c *City) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.sessions.Close()
	c.work.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		err = errors.Join(err, c.client.Close())
	}
	return err
}

// controller returns the connection, which calls share.
func (c *City) controller() (*api.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		return c.client, nil
	}
	client, err := api.Dial(c.dir)
	if err != nil {
		return nil, errors.Join(fleet.ErrAway, err)
	}
	c.client = client
	return client, nil
}

// forget closes a connection that failed.
func (c *City) forget(client *api.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == client && client != nil {
		c.client = nil
		_ = client.Close() // it is broken
	}
}

const (
	maxPause = 5 * time.Second        // of a question to the controller, and between two to the sessions
	settle   = 250 * time.Millisecond // the least time between two snapshots
)

// Watch implements [fleet.Fleet].
func (c *City) Watch(ctx context.Context, show func(fleet.Snapshot)) error {
	nothing := fleet.Snapshot{Name: c.dir, City: c.dir, Agents: []fleet.Agent{}, Attention: []fleet.Attention{}, Messages: []fleet.Message{}}
	return fleet.Steady(ctx, nothing, c.follow, func(err error) string {
		switch {
		case err == nil:
			return "the controller ended"
		case errors.Is(err, api.ErrNoController):
			return "no controller runs: gc start"
		}
		return err.Error()
	}, show)
}

// follow shows snapshots until the controller is lost. An event of the city is what may
// have changed one.
func (c *City) follow(ctx context.Context, show func(fleet.Snapshot)) error {
	client, err := c.controller()
	if err != nil {
		return err
	}
	whole := ctx
	defer func() {
		if whole.Err() == nil { // it was lost
			c.forget(client)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	var task sync.WaitGroup
	defer task.Wait()
	defer cancel()
	s, seq, err := c.snapshot(ctx, client)
	if err != nil {
		return err
	}
	show(s)
	changed, broken := make(chan struct{}, 1), make(chan error, 1)
	task.Go(func() {
		broken <- client.Events(ctx, seq, true, func(api.Event) error {
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	})
	task.Go(func() { c.followLines(ctx, changed) })
	for {
		select {
		case <-changed:
		case err := <-broken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := clock.Sleep(ctx, settle); err != nil {
			return err
		}
		if s, _, err = c.snapshot(ctx, client); err != nil {
			return err
		}
		show(s)
	}
}

// followLines tells of other last lines, if the sessions know when there are some.
func (c *City) followLines(ctx context.Context, changed chan<- struct{}) {
	p, ok := c.sessions.(interface {
		AwaitLines(ctx context.Context) error
	})
	for ok && ctx.Err() == nil {
		if err := p.AwaitLines(ctx); err != nil {
			_ = clock.Sleep(ctx, maxPause)
			continue
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// session returns the session of an agent.
func (c *City) session(ctx context.Context, id string) (string, error) {
	c.mu.Lock()
	at, known := c.places[id]
	c.mu.Unlock()
	if known {
		return at.session, nil
	}
	client, err := c.controller()
	if err != nil {
		return "", err
	}
	if _, _, err := c.snapshot(ctx, client); err != nil {
		return "", errors.Join(fleet.ErrAway, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, known = c.places[id]; known {
		return at.session, nil
	}
	return "", fleet.ErrNotFound
}

// agent returns the agent of a session; the session's name if there is none.
func (c *City) agent(session string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for agent, at := range c.places {
		if at.session == session {
			return agent
		}
	}
	return session
}

// Events implements [fleet.Fleet].
func (c *City) Events(ctx context.Context, after string, fn func(fleet.Event) error) error {
	client, err := c.controller()
	if err != nil {
		return err
	}
	seq := uint64(0)
	if after != "" {
		if seq, err = strconv.ParseUint(after, 10, 64); err != nil {
			return errors.Join(fleet.ErrRefused, err)
		}
	}
	return client.Events(ctx, seq, true, func(e api.Event) error {
		ev := fleet.Event{
			ID: strconv.FormatUint(e.Seq, 10), Time: e.Time, Kind: e.Kind, Agent: e.Agent, Host: e.Host, Why: e.Why, Detail: e.Detail, By: e.By,
		}
		if e.Receipt != nil && ev.Why == "" {
			ev.Why = string(e.Receipt.State)
		}
		if e.Exit != nil && ev.Why == "" {
			ev.Why = e.Exit.Text()
		}
		return fn(ev)
	})
}

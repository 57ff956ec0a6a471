// Package ofmux is the fleet of a multiplexer without a city: its sessions. It implements
// [fleet.Fleet] over the multiplexer's client, polls nothing and keeps nothing that must
// last. cmd/gc-ui opens it; internal/fleet/ofcity uses it for the sessions of a city.
package ofmux

import (
	"context"
	"errors"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// Mux is the fleet of a multiplexer. Use [Open].
type Mux struct {
	name, host string
	dial       func(context.Context) (*client.Client, error)
	hub        *screens.Hub // for servers that have no live screens
	life       context.Context
	end        context.CancelFunc
	borrowed   bool // the connections are another's: they are not closed

	lines lines

	mu   sync.Mutex // guards conn
	conn *client.Client
}

var _ fleet.Fleet = (*Mux)(nil)

// Open returns the fleet of the multiplexer that dial connects to. It connects when it is
// asked something, and again after a loss. name is for people; host is "" for this machine.
func Open(name, host string, dial func(context.Context) (*client.Client, error)) *Mux {
	m := &Mux{name: name, host: host, dial: dial}
	m.life, m.end = context.WithCancel(context.Background())
	m.hub = screens.NewHub(source{m})
	return m
}

// Borrow is [Open] with connections that are not the fleet's to close.
func Borrow(name, host string, client func(context.Context) (*client.Client, error)) *Mux {
	m := Open(name, host, client)
	m.borrowed = true
	return m
}

// Source returns the sessions as a source of screens, for a hub of the caller.
func (m *Mux) Source() screens.Source { return source{m} }

// Close implements [fleet.Fleet].
func (m *Mux) Close() error {
	m.end()
	m.hub.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn == nil || m.borrowed {
		return nil
	}
	return m.conn.Close()
}

// client returns the connection, which calls share.
func (m *Mux) client(ctx context.Context) (*client.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn != nil {
		return m.conn, nil
	}
	c, err := m.dial(ctx)
	if err != nil {
		return nil, wrong(err)
	}
	m.conn = c
	return c, nil
}

// forget closes a connection that failed.
func (m *Mux) forget(c *client.Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn == c && c != nil {
		m.conn = nil
		if !m.borrowed {
			_ = c.Close() // it is broken
		}
	}
}

// wrong is an error in the words of the fleet.
func wrong(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, api.ErrNotFound), errors.Is(err, api.ErrExited):
		return errors.Join(fleet.ErrNotFound, err)
	case errors.Is(err, api.ErrNoServer), errors.Is(err, api.ErrUnreachable):
		return errors.Join(fleet.ErrAway, err)
	}
	return err
}

// Pauses between two tries to reach a server, and the least time between two snapshots.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
	settle     = 150 * time.Millisecond
)

// Watch implements [fleet.Fleet].
func (m *Mux) Watch(ctx context.Context, show func(fleet.Snapshot)) error {
	nothing := fleet.Snapshot{Name: m.name, Host: m.host, Agents: []fleet.Agent{}, Attention: []fleet.Attention{}, Messages: []fleet.Message{}}
	return fleet.Steady(ctx, nothing, m.follow, func(err error) string {
		switch {
		case err == nil:
			return "no answer"
		case errors.Is(err, api.ErrNoServer):
			return "no multiplexer is running"
		}
		return oneLine(err)
	}, show)
}

// follow shows snapshots until the connection breaks.
func (m *Mux) follow(ctx context.Context, show func(fleet.Snapshot)) error {
	c, err := m.client(ctx)
	if err != nil {
		return err
	}
	defer m.forget(c)
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{client: c, changed: make(chan struct{}, 1), waits: map[string]bool{}}
	defer w.tasks.Wait()
	defer cancel()
	broken, err := w.events(ctx)
	if err != nil {
		return err
	}
	w.tasks.Go(func() {
		for m.AwaitLines(ctx) == nil { // without a server, the events end too
			w.news()
		}
	})
	for {
		s, err := m.snapshot(ctx, c)
		if err != nil {
			return err
		}
		show(s)
		w.await(ctx, s.Agents)
		select {
		case <-w.changed:
		case err := <-broken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := clock.Sleep(ctx, settle); err != nil {
			return err
		}
	}
}

// watcher waits for changes: events, and other activities of sessions.
type watcher struct {
	client  *client.Client
	tasks   sync.WaitGroup
	changed chan struct{} // gets a value when a snapshot may have changed

	mu    sync.Mutex // guards waits
	waits map[string]bool
}

func (w *watcher) news() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// events follows the events of the server; broken gets why that ended.
func (w *watcher) events(ctx context.Context) (broken <-chan error, err error) {
	stream, err := w.client.Events(ctx, "")
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	w.tasks.Go(func() {
		defer stream.Close()
		for {
			_, err := stream.Next()
			if err != nil && !errors.Is(err, api.ErrSlow) {
				ended <- err
				return
			}
			w.news()
			if err != nil {
				ended <- err // a new stream, and a new snapshot
				return
			}
		}
	})
	return ended, nil
}

// await waits for another activity of each session that runs. One whose wait begins only now
// may have changed since the snapshot: there is another one soon.
func (w *watcher) await(ctx context.Context, agents []fleet.Agent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range agents {
		id := agents[i].ID
		if agents[i].State != running || w.waits[id] {
			continue
		}
		w.waits[id] = true
		w.tasks.Go(func() { w.activity(ctx, id) })
	}
}

func (w *watcher) activity(ctx context.Context, id string) {
	defer func() {
		w.mu.Lock()
		delete(w.waits, id)
		w.mu.Unlock()
		w.news()
	}()
	for first := true; ; first = false {
		if first {
			time.AfterFunc(settle, w.news)
		}
		r, err := w.client.Wait(ctx, id, api.WaitRequest{Conditions: []api.Condition{{Status: true}}})
		if err != nil || r.Met < 0 {
			return
		}
		w.news()
	}
}

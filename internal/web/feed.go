package web

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"gascity.dev/gc/internal/fleet"
)

// feed watches the fleet once for all pages, while there is one.
type feed struct {
	fleet fleet.Fleet
	ctx   context.Context // of the server

	mu       sync.Mutex
	watchers int
	stop     context.CancelFunc
	stopped  chan struct{} // of the newest watch
	newest   *state
	changed  chan struct{}
}

// state is a snapshot, encoded in parts.
type state struct {
	head   []byte // the snapshot without agents
	order  []string
	agents map[string][]byte
}

// fleetMessage is what a page gets: everything first, then the agents that
// changed.
type fleetMessage struct {
	Op       string            `json:"op"`
	Snapshot json.RawMessage   `json:"snapshot"`
	Order    []string          `json:"order,omitempty"` // if it changed
	Agents   []json.RawMessage `json:"agents,omitempty"`
}

func encode(s fleet.Snapshot) (*state, error) {
	st := &state{agents: make(map[string][]byte, len(s.Agents))}
	for i := range s.Agents {
		data, err := json.Marshal(&s.Agents[i])
		if err != nil {
			return nil, err
		}
		st.order = append(st.order, s.Agents[i].ID)
		st.agents[s.Agents[i].ID] = data
	}
	s.Agents = nil
	var err error
	st.head, err = json.Marshal(&s)
	return st, err
}

// since is the message from one state to the next; before may be nil.
func (st *state) since(before *state) fleetMessage {
	m := fleetMessage{Op: "fleet", Snapshot: st.head}
	same := before != nil && len(before.order) == len(st.order)
	for i, id := range st.order {
		same = same && before.order[i] == id
		if before == nil || !bytes.Equal(before.agents[id], st.agents[id]) {
			m.Agents = append(m.Agents, st.agents[id])
		}
	}
	if !same {
		m.Order = append([]string{}, st.order...)
	}
	return m
}

// join begins to watch for the first page.
func (f *feed) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers++
	if f.watchers > 1 {
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	before, stopped := f.stopped, make(chan struct{})
	f.stop, f.stopped, f.newest = cancel, stopped, nil
	go func() {
		defer close(stopped)
		if before != nil {
			<-before
		}
		f.fleet.Watch(ctx, func(s fleet.Snapshot) { f.show(ctx, s) }) // ends with ctx
	}()
}

// leave ends the watch with the last page.
func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers--
	if f.watchers == 0 {
		f.stop()
	}
}

// wait waits for the end of the watch.
func (f *feed) wait() {
	f.mu.Lock()
	stopped := f.stopped
	f.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

func (f *feed) show(ctx context.Context, s fleet.Snapshot) {
	st, err := encode(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || ctx.Err() != nil {
		return
	}
	f.newest = st
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// next waits for a state other than before.
func (f *feed) next(ctx context.Context, before *state) (*state, error) {
	for {
		f.mu.Lock()
		newest := f.newest
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed := f.changed
		f.mu.Unlock()
		if newest != nil && newest != before {
			return newest, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

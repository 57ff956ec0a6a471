package ofprovider

import (
	"context"
	"sync"
	"time"

	"gascity.dev/gc/internal/fleet/ofmux"
	"gascity.dev/gc/internal/screens"
)

// Screens implements [fleet.Fleet].
func (s *Sessions) Screens(context.Context) (screens.Viewer, error) {
	return &viewer{
		s: s, parts: map[*ofmux.Mux]screens.Viewer{}, at: map[string]*ofmux.Mux{},
		updates: make(chan screens.Update), ended: make(chan struct{}),
	}, nil
}

// viewer passes on what the multiplexers of its sessions show; the hub has the sessions that are
// in none, and those of which that cannot be told.
type viewer struct {
	s       *Sessions
	updates chan screens.Update // unbuffered: a part that is not read holds one update
	ended   chan struct{}
	pumps   sync.WaitGroup

	mu     sync.Mutex // guards all below
	closed bool
	parts  map[*ofmux.Mux]screens.Viewer // nil is the hub
	at     map[string]*ofmux.Mux         // the part that shows a session
}

// placing bounds the search for the multiplexers of the sessions: one that hangs must not hold up
// the others.
const placing = 500 * time.Millisecond

// places returns the multiplexers of the sessions; nil where there is none, or that cannot be told
// soon.
func (s *Sessions) places(looks []screens.Look) []*ofmux.Mux {
	ctx, cancel := context.WithTimeout(context.Background(), placing)
	defer cancel()
	out := make([]*ofmux.Mux, len(looks))
	var asks sync.WaitGroup
	for i := range looks {
		asks.Go(func() {
			if m, err := s.mux(ctx, looks[i].ID); err == nil {
				out[i] = m
			}
		})
	}
	asks.Wait()
	return out
}

// Look implements [screens.Viewer].
func (v *viewer) Look(looks []screens.Look) error {
	if err := screens.CheckLooks(looks); err != nil {
		return err
	}
	of := map[*ofmux.Mux][]screens.Look{}
	at := make(map[string]*ofmux.Mux, len(looks))
	for i, m := range v.s.places(looks) {
		of[m], at[looks[i].ID] = append(of[m], looks[i]), m
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return screens.ErrClosed
	}
	v.at = at
	for m := range of {
		if v.parts[m] == nil {
			v.join(m)
		}
	}
	for m, part := range v.parts {
		if err := part.Look(of[m]); err != nil {
			return err
		}
	}
	return nil
}

// join adds a part. mu is held.
func (v *viewer) join(m *ofmux.Mux) {
	var part screens.Viewer
	if m == nil {
		part = v.s.hub.View()
	} else {
		part = m.View()
	}
	v.parts[m] = part
	v.pumps.Go(func() {
		for {
			u, err := part.Next()
			if err != nil {
				return // it was closed
			}
			if !v.shows(m, u.ID) {
				continue
			}
			select {
			case v.updates <- u:
			case <-v.ended:
				return
			}
		}
	})
}

// shows reports whether a part is the one that shows a session.
func (v *viewer) shows(m *ofmux.Mux, id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, looked := v.at[id]
	return looked && at == m
}

// Next implements [screens.Viewer].
func (v *viewer) Next() (screens.Update, error) {
	select {
	case u := <-v.updates:
		return u, nil
	case <-v.ended:
		return screens.Update{}, screens.ErrClosed
	}
}

// Close implements [screens.Viewer].
func (v *viewer) Close() error {
	v.mu.Lock()
	if !v.closed {
		v.closed = true
		close(v.ended)
		for _, part := range v.parts {
			_ = part.Close()
		}
	}
	v.mu.Unlock()
	v.pumps.Wait()
	return nil
}

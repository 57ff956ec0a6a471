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

// placing bounds the search for the multiplexers of the sessions.
const placing = 5 * time.Second

// Look implements [screens.Viewer].
func (v *viewer) Look(looks []screens.Look) error {
	ctx, cancel := context.WithTimeout(context.Background(), placing)
	defer cancel()
	of := map[*ofmux.Mux][]screens.Look{}
	at := make(map[string]*ofmux.Mux, len(looks))
	for _, l := range looks {
		m, err := v.s.mux(ctx, l.ID)
		if err != nil {
			m = nil
		}
		of[m], at[l.ID] = append(of[m], l), m
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

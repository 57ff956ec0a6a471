package ofmux

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/mux/api"
)

// Screens implements [fleet.Fleet].
func (m *Mux) Screens(context.Context) (screens.Viewer, error) { return m.View(), nil }

// View returns a viewer that outlives the server: what is looked at is unknown while the server
// is away, and is sent anew by the next one. A server that is too old to have live screens is
// asked for each.
func (m *Mux) View() screens.Viewer {
	v := &viewer{m: m, last: map[string]screens.Update{}}
	v.ctx, v.cancel = context.WithCancel(m.life)
	context.AfterFunc(v.ctx, v.hangUp)
	return v
}

// viewer shows the sessions of one multiplexer after another.
type viewer struct {
	m      *Mux
	ctx    context.Context // ends with Close, and with the fleet
	cancel context.CancelFunc

	mu    sync.Mutex // guards looks and now
	looks []screens.Look
	now   screens.Viewer // nil without a server

	// Of the goroutine that calls Next:
	last  map[string]screens.Update // of each session, without rows
	lost  []screens.Update          // still to be returned
	away  time.Time                 // when the server was lost; zero while it is there
	pause time.Duration             // before the next try
}

// Look implements [screens.Viewer].
func (v *viewer) Look(looks []screens.Look) error {
	if err := screens.CheckLooks(looks); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ctx.Err() != nil {
		return screens.ErrClosed
	}
	v.looks = slices.Clone(looks)
	if v.now != nil {
		_ = v.now.Look(looks) // if it breaks, Next learns it, and the next one gets the looks
	}
	return nil
}

// Next implements [screens.Viewer].
func (v *viewer) Next() (screens.Update, error) {
	for v.ctx.Err() == nil {
		if len(v.lost) > 0 {
			u := v.lost[0]
			v.lost = v.lost[1:]
			return u, nil
		}
		now, err := v.connect()
		if err == nil {
			var u screens.Update
			if u, err = now.Next(); err == nil {
				v.note(u)
				return u, nil
			}
			v.drop(now)
		}
		if v.ctx.Err() == nil {
			v.failed(err)
		}
	}
	return screens.Update{}, screens.ErrClosed
}

// note remembers an update for the time when nothing can be told.
func (v *viewer) note(u screens.Update) {
	v.away, v.pause = time.Time{}, 0
	u.Changed, u.Full = nil, false
	v.last[u.ID] = u
}

// patience is how long a server may be away before its sessions are unknown: one that is replaced
// is back sooner.
const patience = time.Second

// failed makes the sessions unknown if the server is away for long, and waits before another try.
func (v *viewer) failed(err error) {
	if v.away.IsZero() {
		v.away = time.Now()
	}
	v.pause = min(max(2*v.pause, firstPause), maxPause)
	if time.Since(v.away) > patience || errors.Is(err, api.ErrNoServer) {
		v.mu.Lock()
		looks := v.looks
		v.mu.Unlock()
		for _, l := range looks {
			u := v.last[l.ID]
			if why := oneLine(err); u.State != screens.Unknown || u.Why != why {
				u.ID, u.State, u.Why = l.ID, screens.Unknown, why
				v.last[l.ID], v.lost = u, append(v.lost, u)
			}
		}
	}
	if len(v.lost) == 0 {
		_ = clock.Sleep(v.ctx, v.pause)
	}
}

// connect returns the viewer of the server that is there now.
func (v *viewer) connect() (screens.Viewer, error) {
	v.mu.Lock()
	now := v.now
	v.mu.Unlock()
	if now != nil {
		return now, nil
	}
	c, err := v.m.client(v.ctx)
	if err != nil {
		return nil, err
	}
	now, err = c.Screens(v.ctx)
	switch {
	case errors.Is(err, api.ErrVersion):
		now = v.m.hub.View()
	case err != nil:
		if errors.Is(err, api.ErrUnreachable) {
			v.m.forget(c)
		}
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ctx.Err() != nil {
		_ = now.Close()
		return nil, screens.ErrClosed
	}
	if err := now.Look(v.looks); err != nil {
		_ = now.Close()
		return nil, err
	}
	v.now = now
	return now, nil
}

// drop gives up a viewer that failed.
func (v *viewer) drop(now screens.Viewer) {
	_ = now.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = nil
}

// Close implements [screens.Viewer].
func (v *viewer) Close() error {
	v.cancel()
	return nil
}

// hangUp ends a Next under way.
func (v *viewer) hangUp() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now != nil {
		_ = v.now.Close()
	}
}

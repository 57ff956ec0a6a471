package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"gascity.dev/gc/internal/event"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/screens/wire"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
	"gascity.dev/gc/vt"
)

// handleScreens serves live screens to one viewer.
func (a *apiServer) handleScreens(w http.ResponseWriter, r *http.Request) (any, error) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return nil, fmt.Errorf("%w: screens require a WebSocket", api.ErrRequest)
	}
	wire.Serve(r.Context(), w, r, a.srv.screens.View())
	return endpoint.Hijacked{}, nil
}

// live is the sessions as a source of live screens.
type live struct{ t *sessionTable }

// Next implements [screens.Source]. It never fails before ctx ends.
func (o live) Next(ctx context.Context, id string, after screens.Mark, _ float64) (*screens.Screen, error) {
	for {
		var begun *event.Subscription[api.Event]
		if after.State == screens.Gone || after.State == screens.Exited { // first: what begins later is seen
			var err error
			if begun, err = o.t.srv.events.log.Subscribe(event.Position{}); err != nil {
				return nil, err
			}
		}
		shown, changed := o.look(id, after)
		var err error
		switch {
		case shown != nil:
		case begun != nil:
			err = another(ctx, begun)
		default:
			select {
			case <-changed:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if begun != nil {
			begun.Close()
		}
		if shown != nil || err != nil {
			return shown, err
		}
	}
}

// look returns what a session shows, or nil and a channel that closes when it changes if that is
// still the screen with the mark.
func (o live) look(id string, after screens.Mark) (*screens.Screen, <-chan struct{}) {
	s, err := o.t.find(id)
	if err != nil {
		if gone := (&screens.Screen{State: screens.Gone}); gone.Mark() != after {
			return gone, nil
		}
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := &s.screen
	out := &screens.Screen{State: screens.Running, Incarnation: s.rec.ID, Revision: sc.revision()}
	if s.life.ended() {
		out.State = screens.Exited
	}
	if out.Mark() == after {
		return nil, s.change()
	}
	var now vt.Screen
	if err := protect(func() { now = sc.view().Screen() }); err != nil {
		sc.panicked(err)
		now = sc.view().Screen() // of another emulator
		out.Revision = sc.revision()
	}
	out.Cols, out.Rows, out.Title, out.Cursor = now.Cols, now.Rows, now.Title, now.Cursor
	out.Reverse, out.Lines = now.Modes.ReverseVideo, now.Lines
	return out, nil
}

// another waits until another session may have a name.
func another(ctx context.Context, events *event.Subscription[api.Event]) error {
	for {
		item, err := events.Next(ctx)
		if err != nil {
			return err
		}
		switch item.Value.Type {
		case api.EventStarted, api.EventRemoved, api.EventRenamed:
			return nil
		}
	}
}

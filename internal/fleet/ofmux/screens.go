package ofmux

import (
	"context"
	"errors"

	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// source has the screens of the sessions, one by one, as servers without live screens serve them:
// the server says when one changes.
type source struct{ m *Mux }

func (s source) Next(ctx context.Context, id string, after screens.Mark, _ float64) (*screens.Screen, error) {
	c, err := s.m.client(ctx)
	if err != nil {
		return nil, err
	}
	screen, err := s.next(ctx, c, id, after)
	if errors.Is(err, api.ErrUnreachable) && ctx.Err() == nil {
		s.m.forget(c)
	}
	return screen, err
}

func (s source) next(ctx context.Context, c *client.Client, id string, after screens.Mark) (*screens.Screen, error) {
	for {
		if after.State == screens.Running {
			if err := changed(ctx, c, id, after.Revision); err != nil {
				return nil, err
			}
		}
		screen, err := look(ctx, c, id)
		if err != nil || screen.Mark() != after {
			return screen, err
		}
		if after.State != screens.Running { // it has ended: another one of its name may begin
			if err := begun(ctx, c); err != nil {
				return nil, err
			}
		}
	}
}

// changed waits until a session shows something else, or has ended.
func changed(ctx context.Context, c *client.Client, id string, revision uint64) error {
	_, err := c.Wait(ctx, id, api.WaitRequest{Conditions: []api.Condition{{Changed: &revision}, {Exit: true}}})
	if errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrExited) {
		return nil
	}
	return err
}

// begun waits for an event of the server.
func begun(ctx context.Context, c *client.Client) error {
	stream, err := c.Events(ctx, "")
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = stream.Next()
	return err
}

// look returns what a session shows.
func look(ctx context.Context, c *client.Client, id string) (*screens.Screen, error) {
	p, err := c.Peek(ctx, api.PeekRequest{Name: id, Screen: true, Format: api.FormatJSON})
	switch {
	case errors.Is(err, api.ErrNotFound):
		return &screens.Screen{State: screens.Gone}, nil
	case err != nil:
		return nil, err
	case p.Screen == nil:
		return &screens.Screen{State: screens.Unknown, Why: "the screen was lost", Incarnation: p.ID}, nil
	}
	s := p.Screen
	state := screens.Running
	if p.State != "" && p.State != api.StateRunning {
		state = screens.Exited
	}
	return &screens.Screen{
		State: state, Incarnation: p.ID, Revision: p.Revision, Cols: s.Cols, Rows: s.Rows, Title: s.Title,
		Cursor: s.Cursor, Reverse: s.Modes.ReverseVideo, Lines: s.Lines,
	}, nil
}

package client

import (
	"context"
	"errors"
	"net/http"

	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/screens/wire"
	"gascity.dev/gc/mux/api"
)

// screensPath is where a server serves live screens.
const screensPath = "/v1/screens"

// viewer is a viewer whose server is watched.
type viewer struct {
	screens.Viewer
	client *Client
	life   context.Context // ends with the viewer, or if the server hangs
	done   func()
}

// Screens returns a viewer of the server's sessions, by their names or ids. It lives until it is
// closed. ErrVersion if the server is too old to serve live screens.
func (c *Client) Screens(ctx context.Context) (screens.Viewer, error) {
	life, done := c.watch(context.WithoutCancel(ctx), http.MethodGet, screensPath)
	dial, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	inner, refusal, err := wire.Dial(dial, "http://"+host+screensPath, &http.Client{Transport: &c.conns})
	if err == nil {
		v := &viewer{Viewer: inner, client: c, life: life, done: done}
		context.AfterFunc(life, func() { _ = inner.Close() })
		return v, nil
	}
	defer done()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case life.Err() != nil:
		return nil, context.Cause(life)
	case refusal == nil:
		return nil, c.unreachable(err)
	}
	return nil, replyError(refusal)
}

// Look implements [screens.Viewer].
func (v *viewer) Look(looks []screens.Look) error { return v.failed(v.Viewer.Look(looks)) }

// Next implements [screens.Viewer].
func (v *viewer) Next() (screens.Update, error) {
	u, err := v.Viewer.Next()
	return u, v.failed(err)
}

// failed is the error of a call: why the connection ended.
func (v *viewer) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(v.life), api.ErrFrozen):
		return api.ErrFrozen
	case errors.Is(err, screens.ErrClosed):
		return err
	}
	return v.client.unreachable(err)
}

// Close implements [screens.Viewer].
func (v *viewer) Close() error {
	v.done()
	return v.Viewer.Close()
}

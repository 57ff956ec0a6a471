package native

import (
	"context"
	"errors"
	"fmt"
	"net"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// Control implements runtime.Controlled.
func (p *Provider) Control(ctx context.Context, name string) (net.Conn, error) {
	var conn net.Conn
	err := p.query(ctx, func(c *client.Client) (err error) {
		conn, err = c.Control(ctx, name)
		return err
	})
	switch {
	case gone(err):
		err = errors.Join(runtime.ErrSessionNotFound, err)
	case errors.Is(err, api.ErrNoControl):
		err = errors.Join(runtime.ErrUnsupported, err)
	}
	if err != nil {
		return nil, fmt.Errorf("control of %s: %w", name, err)
	}
	return conn, nil
}

package client

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"gascity.dev/gc/mux/api"
)

// Control connects to the control socket of a session's program; the caller closes the
// connection, which speaks the protocol of package internal/acp/control. It waits up to
// ten seconds for a program that has just started. ErrNotFound; ErrNoControl if the
// session was created without api.CreateRequest.Control; ErrExited; ErrNotServed;
// ErrVersion if the server is too old.
func (c *Client) Control(ctx context.Context, name string) (net.Conn, error) {
	path := sessionPath(name, "/control")
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+host+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", api.ControlProtocol)
	watched, done := c.watch(ctx, "GET", path)
	defer done()
	resp, err := c.conns.RoundTrip(req.WithContext(watched))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.unreachable(err)
	}
	if conn, ok := resp.Body.(net.Conn); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		return conn, nil
	}
	defer resp.Body.Close()
	return nil, replyError(resp)
}

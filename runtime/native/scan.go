package native

import (
	"context"
	"fmt"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// tracked returns the leaders of the server's sessions.
func (p *Provider) tracked(ctx context.Context) (map[int]uint64, error) {
	var infos []api.SessionInfo
	err := p.query(ctx, func(c *client.Client) (err error) {
		infos, err = c.List(ctx, "", false)
		return err
	})
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	pids := make(map[int]uint64, len(infos))
	for _, info := range infos {
		pids[info.PID] = 0
	}
	return pids, nil
}

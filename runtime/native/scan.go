package native

import (
	"context"
	"fmt"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// providerName is the Provider of the runtimes that it finds.
const providerName = "native"

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (p *Provider) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	roots, err := proctree.Roots(id)
	if err != nil {
		return nil, fmt.Errorf("process table: %w", err)
	}
	tracked, err := p.trackedPIDs(ctx)
	out := make([]runtime.LiveRuntime, 0, len(roots))
	for _, r := range roots {
		out = append(out, runtime.LiveRuntime{
			SessionID: r.Env[proctree.SessionVar], Session: r.Env["GC_SESSION_NAME"], City: r.City(), Epoch: r.Epoch(), PID: r.PID,
			Provider: providerName, Tracked: tracked[r.PID], Start: r.Start,
		})
	}
	return out, err
}

// trackedPIDs returns the leaders of the server's sessions.
func (p *Provider) trackedPIDs(ctx context.Context) (map[int]bool, error) {
	var infos []api.SessionInfo
	err := p.query(ctx, func(c *client.Client) (err error) {
		infos, err = c.List(ctx, "", false)
		return err
	})
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	pids := make(map[int]bool, len(infos))
	for _, info := range infos {
		pids[info.PID] = true
	}
	return pids, nil
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	if r.City == "" {
		return fmt.Errorf("end process %d: no city owns it", r.PID)
	}
	if err := proctree.End(ctx, r.PID, r.Start, r.SessionID, p.o.StopGrace); err != nil {
		return fmt.Errorf("end process %d: %w", r.PID, err)
	}
	return nil
}

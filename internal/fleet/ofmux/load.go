package ofmux

import (
	"context"

	"gascity.dev/gc/internal/fleet"
)

// Load implements [fleet.Fleet].
func (m *Mux) Load(ctx context.Context) (fleet.Load, error) {
	c, err := m.client(ctx)
	if err != nil {
		return fleet.Load{}, err
	}
	st, err := c.Status(ctx)
	if err != nil {
		return fleet.Load{}, wrong(err)
	}
	list, err := c.List(ctx, "", false)
	if err != nil {
		return fleet.Load{}, wrong(err)
	}
	l := fleet.Load{Output: st.Output, Waits: st.Waits, Server: st.Server.MemoryBytes, Keeper: st.Keeper.MemoryBytes}
	for i := range list {
		l.Attached += list[i].Attached
	}
	return l, nil
}

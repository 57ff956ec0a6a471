package ofprovider

import (
	"context"
	"maps"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/ofmux"
)

// Shown returns what each of the sessions in a multiplexer shows; of the others the
// controller knows the last line. One whose multiplexer gives no answer has nothing.
func (s *Sessions) Shown(ctx context.Context, sessions []string) (map[string]fleet.Shown, error) {
	byMux := map[*ofmux.Mux][]string{}
	for _, id := range sessions {
		if m, err := s.mux(ctx, id); err == nil && m != nil {
			byMux[m] = append(byMux[m], id)
		}
	}
	shown := map[string]fleet.Shown{}
	for m, ids := range byMux {
		if some, err := m.Shown(ctx, ids); err == nil {
			maps.Copy(shown, some)
		}
	}
	return shown, nil
}

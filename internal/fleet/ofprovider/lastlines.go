package ofprovider

import (
	"context"
	"maps"

	"gascity.dev/gc/internal/fleet/ofmux"
)

// LastLines returns the last line that each of the sessions in a multiplexer shows; of the
// others the controller knows it. One whose multiplexer gives no answer has none.
func (s *Sessions) LastLines(ctx context.Context, sessions []string) (map[string]string, error) {
	byMux := map[*ofmux.Mux][]string{}
	for _, id := range sessions {
		if m, err := s.mux(ctx, id); err == nil && m != nil {
			byMux[m] = append(byMux[m], id)
		}
	}
	last := map[string]string{}
	for m, ids := range byMux {
		if lines, err := m.LastLines(ctx, ids); err == nil {
			maps.Copy(last, lines)
		}
	}
	return last, nil
}

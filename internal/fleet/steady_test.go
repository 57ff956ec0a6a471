package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSteady: between two connections the last snapshot is shown as lost, since the first loss,
// with pauses that grow until a connection shows something.
func TestSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		tries := []time.Duration{}
		follow := func(_ context.Context, show func(Snapshot)) error {
			tries = append(tries, time.Since(began))
			switch len(tries) {
			case 3:
				show(Snapshot{Name: "town"})
				return nil
			case 5:
				cancel()
			}
			return errors.New("refused")
		}
		var shown []Snapshot
		why := func(err error) string {
			if err == nil {
				return "ended"
			}
			return err.Error()
		}
		if err := Steady(ctx, Snapshot{Name: "before"}, follow, why, func(s Snapshot) { shown = append(shown, s) }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for i, want := range []struct {
			name, lost string
			since      time.Duration
		}{{"before", "refused", 0}, {"before", "refused", 0}, {"town", "", -1}, {"town", "ended", 300e6}, {"town", "refused", 300e6}} {
			if s := shown[i]; s.Name != want.name || s.Lost != want.lost || want.since >= 0 && s.LostSince.Sub(began) != want.since {
				t.Errorf("snapshot %d: %+v, want %+v", i, s, want)
			}
		}
		for i, want := range []time.Duration{0, 100e6, 300e6, 400e6, 600e6} {
			if tries[i] != want {
				t.Errorf("try %d after %v, want %v", i, tries[i], want)
			}
		}
	})
}

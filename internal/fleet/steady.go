package fleet

import (
	"context"
	"time"

	"gascity.dev/gc/internal/clock"
)

// Pauses between two connections of [Steady].
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Steady shows the snapshots of one connection after another until ctx ends, whose error it returns.
// follow shows those of one until it breaks. After that the last snapshot is shown as lost, with
// what why says of follow's error, which may be nil; last is the one before the first.
func Steady(ctx context.Context, last Snapshot, follow func(context.Context, func(Snapshot)) error, why func(error) string, show func(Snapshot)) error {
	lost, pause := time.Time{}, firstPause
	for ctx.Err() == nil {
		err := follow(ctx, func(s Snapshot) {
			last, lost, pause = s, time.Time{}, firstPause
			show(s)
		})
		if ctx.Err() != nil {
			break
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		last.Lost, last.LostSince = why(err), lost
		show(last)
		_ = clock.Sleep(ctx, pause)
		pause = min(2*pause, maxPause)
	}
	return ctx.Err()
}

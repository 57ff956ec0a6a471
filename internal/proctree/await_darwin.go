package proctree

import (
	"context"
	"fmt"
	"time"
)

// awaitTick is the pace at which processes are looked at.
const awaitTick = 500 * time.Millisecond

// AwaitEnd returns nil when one of the processes has ended, at once when there is
// none of them.
func AwaitEnd(ctx context.Context, procs []Proc) error {
	t := time.NewTicker(awaitTick)
	defer t.Stop()
	for {
		for _, p := range procs {
			if !p.Alive() {
				return nil
			}
		}
		if len(procs) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of a process: %w", ctx.Err())
		case <-t.C:
		}
	}
}

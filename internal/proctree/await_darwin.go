package proctree

import (
	"context"
	"fmt"
	"time"
)

// awaitTick is the polling interval.
const awaitTick = 500 * time.Millisecond

// AwaitEnd returns nil when any of the processes has ended, or there are none.
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

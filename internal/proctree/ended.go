package proctree

import (
	"context"
	"time"
)

// endedTick is the pace of looking at a process that the kernel does not tell about.
const endedTick = 100 * time.Millisecond

// Ended waits until the process has ended, whoever its parent is, or returns the
// error of ctx. It costs nothing meanwhile where the kernel tells of the end.
func Ended(ctx context.Context, p Proc) error {
	if told, err := toldEnd(ctx, p); told {
		return err
	}
	tick := time.NewTicker(endedTick)
	defer tick.Stop()
	for p.Alive() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

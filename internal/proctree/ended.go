package proctree

import (
	"context"
	"time"
)

// endedTick is the polling interval where the kernel does not report the end of
// a process.
const endedTick = 100 * time.Millisecond

// Ended waits until the process has ended, whoever its parent is, or returns
// ctx's error. Waiting is free on kernels that report the end; others are
// polled every 100 ms.
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

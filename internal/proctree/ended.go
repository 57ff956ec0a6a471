package proctree

import (
	"context"
	"time"
)

// endedPoll is the polling interval where the kernel does not report the end of
// a process.
const endedPoll = 100 * time.Millisecond

// Ended waits until the process has ended, whoever its parent is, or returns
// ctx's error. Waiting is free on kernels that report the end; others are
// polled every 100 ms.
func Ended(ctx context.Context, p Proc) error {
	if reported, err := waitEnd(ctx, p); reported {
		return err
	}
	tick := time.NewTicker(endedPoll)
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

package driver

import (
	"context"
	"time"

	"gascity.dev/gc/internal/clock"
)

// idleQuiet is how long a prompt must be unchanged to count as idle.
const idleQuiet = 1500 * time.Millisecond

// AwaitPrompt polls the screen until it shows an open prompt with the ready prefix
// and has not changed for 1.5 s. Without a prefix it waits until ctx ends.
func AwaitPrompt(ctx context.Context, screen func(context.Context) (string, error), prefix string, poll time.Duration) error {
	last, since := "", time.Now()
	for {
		now, err := screen(ctx)
		if err != nil {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		}
		if prefix != "" && time.Since(since) >= idleQuiet && PromptOpen(now, prefix) {
			return nil
		}
		if err := clock.Sleep(ctx, poll); err != nil {
			return err
		}
	}
}

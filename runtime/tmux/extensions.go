package tmux

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/runtime/driver"
)

// WaitForIdle implements runtime.IdleWaitProvider: the session's ready prefix is on a
// screen that has not changed for 1.5 s, and no dialog is open. Without a prefix it
// always times out.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := p.live(inner, name)
	if err != nil {
		return fmt.Errorf("idle %s: %w", name, err)
	}
	screen := func(ctx context.Context) (string, error) { return p.capture(ctx, v.target, fromScreen) }
	if err := driver.AwaitPrompt(inner, screen, v.ready, dialogStep); err != nil {
		return fmt.Errorf("idle %s: %w", name, err)
	}
	return nil
}

// box returns where commands beside the agent run. The launch file sets the
// environment of the session's program.
func (p *Provider) box(ctx context.Context, name string) (dir string, env map[string]string, err error) {
	v, err := p.live(ctx, name)
	if err != nil {
		return "", nil, err
	}
	env, err = driver.ProgramEnv(ctx, v.pid, "")
	return v.workDir, env, err
}

// tracked returns the programs of the server's sessions.
func (p *Provider) tracked(ctx context.Context) (map[int]uint64, error) {
	pids := map[int]uint64{}
	lines, err := p.query(ctx, "list-panes", "-a", "-F", paneFormat)
	if gone(err) {
		err = nil
	}
	for _, l := range lines {
		if v, ok := parsePane(l); ok && !v.dead {
			pids[v.pid] = 0
		}
	}
	return pids, err
}

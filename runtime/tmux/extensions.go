package tmux

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// idleQuiet is how long a prompt must be unchanged to count.
const idleQuiet = 1500 * time.Millisecond

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
	last, since := "", time.Now()
	for {
		screen, err := p.capture(inner, v.target, fromScreen)
		if err != nil {
			return fmt.Errorf("idle %s: %w", name, err)
		}
		if screen != last {
			last, since = screen, time.Now()
		}
		if v.ready != "" && time.Since(since) >= idleQuiet && driver.PromptOpen(screen, v.ready) {
			return nil
		}
		if err := sleep(inner, dialogStep); err != nil {
			return fmt.Errorf("idle %s: %w", name, err)
		}
	}
}

// Exec implements runtime.ExecProvider: on this machine, in the work dir and with the
// environment of the session's program.
func (p *Provider) Exec(ctx context.Context, name string, argv []string) ([]byte, int, error) {
	v, err := p.live(ctx, name)
	if err != nil {
		return nil, 0, fmt.Errorf("exec in %s: %w", name, err)
	}
	env, err := programEnv(ctx, v.pid)
	if err != nil {
		return nil, 0, fmt.Errorf("exec in %s: %w", name, err)
	}
	out, code, err := driver.ExecLocal(ctx, v.workDir, env, argv)
	if err != nil {
		return out, code, fmt.Errorf("exec in %s: %w", name, err)
	}
	return out, code, nil
}

// programEnv reads the environment of a session's program once the launch file has
// set it.
func programEnv(ctx context.Context, pid int) (map[string]string, error) {
	for {
		env, err := proctree.Environ(pid)
		if err != nil || env[markerVar] != "" {
			return env, err
		}
		if err := sleep(ctx, echoStep); err != nil {
			return nil, err
		}
	}
}

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (p *Provider) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	roots, err := proctree.Roots(id)
	if err != nil {
		return nil, fmt.Errorf("process table: %w", err)
	}
	tracked := map[int]bool{}
	lines, err := p.query(ctx, "list-panes", "-a", "-F", paneFormat)
	if gone(err) {
		err = nil
	}
	for _, l := range lines {
		if v, ok := parsePane(l); ok && !v.dead {
			tracked[v.pid] = true
		}
	}
	out := make([]runtime.LiveRuntime, 0, len(roots))
	for _, r := range roots {
		out = append(out, runtime.LiveRuntime{
			SessionID: r.Env[markerVar], Session: r.Env["GC_SESSION_NAME"], City: r.City(), Epoch: r.Epoch(), PID: r.PID,
			Provider: "tmux", Tracked: tracked[r.PID], Start: r.Start,
		})
	}
	return out, err
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	if r.City == "" {
		return fmt.Errorf("end process %d: no city owns it", r.PID)
	}
	if err := proctree.End(ctx, r.PID, r.Start, r.SessionID, p.o.StopGrace); err != nil {
		return fmt.Errorf("end process %d: %w", r.PID, err)
	}
	return nil
}

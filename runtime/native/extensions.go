package native

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime"
)

// idleQuiet is how long a prompt must have stood without output to count.
const idleQuiet = 1500 * time.Millisecond

// WaitForIdle implements runtime.IdleWaitProvider: a shell prompt is open (OSC
// 133), or the ready prefix of the session's start stands on the screen with
// 1.5 s of quiet; and no dialog is open.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	info, err := p.live(inner, name)
	if err != nil {
		return fmt.Errorf("idle %s: %w", name, err)
	}
	prefix, err := p.GetMeta(inner, info.ID, readyMeta)
	if err != nil {
		return err
	}
	for {
		if err := p.idleOnce(inner, info.ID, prefix); err != nil {
			return fmt.Errorf("idle %s: %w", name, err)
		}
		s := &starter{p: p, name: name, id: info.ID}
		screen, err := s.screen(inner)
		if err != nil {
			return fmt.Errorf("idle %s: %w", name, err)
		}
		if !runtime.DialogOpen(screen) {
			return nil
		}
		if err := s.changed(inner); err != nil {
			return fmt.Errorf("idle %s: %w", name, err)
		}
	}
}

// idleOnce waits for one sign of idleness.
func (p *Provider) idleOnce(ctx context.Context, id, prefix string) error {
	conditions := []mux.Condition{{Prompt: true}}
	if prefix != "" {
		conditions = append(conditions, mux.Condition{Text: `^[│┃║|\s]*` + regexp.QuoteMeta(strings.TrimRight(prefix, " "))})
	}
	met, err := p.wait(ctx, id, conditions)
	if err != nil || met == 0 {
		return err
	}
	_, err = p.wait(ctx, id, []mux.Condition{{Quiet: idleQuiet}})
	return err
}

func (p *Provider) wait(ctx context.Context, id string, conditions []mux.Condition) (int, error) {
	var r mux.WaitResult
	err := p.query(ctx, func(c *mux.Client) (err error) {
		r, err = c.Wait(ctx, id, mux.WaitRequest{Conditions: conditions})
		return err
	})
	if err == nil && r.Met < 0 {
		err = runtime.ErrSessionNotFound
	}
	return r.Met, err
}

// DismissKnownDialogs implements runtime.DialogProvider.
func (p *Provider) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	info, err := p.live(inner, name)
	if err != nil {
		return fmt.Errorf("dialogs of %s: %w", name, err)
	}
	s := &starter{p: p, name: name, id: info.ID}
	return runtime.DismissDialogs(inner, name, s.hooks(), nil)
}

// Exec implements runtime.ExecProvider: the box of a native session is this
// machine, in the work dir and with the environment of its leader.
func (p *Provider) Exec(ctx context.Context, name string, argv []string) ([]byte, int, error) {
	info, err := p.live(ctx, name)
	if err != nil {
		return nil, 0, fmt.Errorf("exec in %s: %w", name, err)
	}
	env, err := leaderEnv(ctx, info.PID)
	if err != nil {
		return nil, 0, fmt.Errorf("exec in %s: %w", name, err)
	}
	out, code, err := runtime.ExecLocal(ctx, info.WorkDir, env, argv)
	if err != nil {
		return out, code, fmt.Errorf("exec in %s: %w", name, err)
	}
	return out, code, nil
}

// lookAgain is the pause between two looks at a process that is becoming
// another program; nothing tells when it has.
const lookAgain = 5 * time.Millisecond

// leaderEnv reads the environment of a session's leader. While the leader
// becomes another program it shows none; the mark of the session tells.
func leaderEnv(ctx context.Context, pid int) (map[string]string, error) {
	t := time.NewTicker(lookAgain)
	defer t.Stop()
	for {
		env, err := proctree.Environ(pid)
		if err != nil || env[proctree.SessionVar] != "" {
			return env, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		}
	}
}

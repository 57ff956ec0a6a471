package tmux

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Stop implements runtime.Provider.
func (p *Provider) Stop(ctx context.Context, name string) error {
	v, err := p.get(ctx, target(name))
	if err == nil {
		err = p.end(ctx, v)
	}
	if err == nil {
		p.tidy(ctx)
	}
	return driver.BestEffort("stop", name, err)
}

// Interrupt implements runtime.Provider.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	_, err := p.once(ctx, target(name), "send-keys", "-t", target(name), "C-c")
	return driver.BestEffort("interrupt", name, err)
}

// IsRunning implements runtime.Provider.
func (p *Provider) IsRunning(ctx context.Context, name string) (bool, error) {
	_, err := p.live(ctx, name)
	return driver.YesNo(true, "state of", name, err)
}

// IsAttached implements runtime.Provider.
func (p *Provider) IsAttached(ctx context.Context, name string) (bool, error) {
	v, err := p.live(ctx, name)
	return driver.YesNo(v.attached > 0, "clients of", name, err)
}

// ProcessAlive implements runtime.Provider.
func (p *Provider) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	if len(names) == 0 {
		return true, nil
	}
	v, err := p.live(ctx, name)
	alive := false
	if err == nil {
		alive, err = v.alive(names)
	}
	return driver.YesNo(alive, "processes of", name, err)
}

func (v pane) alive(names []string) (bool, error) {
	if v.dead {
		return false, nil
	}
	members, err := proctree.Members(v.pid, v.pid, v.marker)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(members, func(m proctree.Proc) bool {
		return !m.Zombie() && proctree.Matches(m.PID, names)
	}), nil
}

// ListRunning implements runtime.Provider.
func (p *Provider) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	panes, err := p.panes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	p.seen(panes...)
	var names []string
	for _, v := range panes {
		if strings.HasPrefix(v.name, prefix) {
			names = append(names, v.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// panes returns the sessions whose program runs.
func (p *Provider) panes(ctx context.Context) ([]pane, error) {
	lines, err := p.query(ctx, "list-panes", "-a", "-F", paneFormat)
	if gone(err) {
		return nil, nil
	}
	var panes []pane
	for _, l := range lines {
		if v, ok := parsePane(l); ok && !v.dead {
			panes = append(panes, v)
		}
	}
	return panes, err
}

// GetLastActivity implements runtime.Provider, in whole seconds.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	v, err := p.get(ctx, target(name))
	if gone(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("activity of %s: %w", name, err)
	}
	return v.activity, nil
}

// exit returns how the program ended; meaningless while it runs.
func (v pane) exit() *runtime.Exit {
	e := &runtime.Exit{Code: v.code, Reason: runtime.ReasonExited, Time: v.died}
	if e.Time.IsZero() {
		e.Time = v.activity
	}
	if !v.known {
		e.Code, e.Reason = -1, runtime.ReasonUnknown
	}
	if v.signal > 0 {
		e.Code, e.Signal, e.Reason = 128+v.signal, unix.SignalName(unix.Signal(v.signal)), runtime.ReasonKilled
	}
	return e
}

// LastExit implements runtime.ExitReporter.
func (p *Provider) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	v, err := p.get(ctx, target(name))
	if err != nil {
		return nil, fmt.Errorf("exit of %s: %w", name, err)
	}
	if !v.dead {
		return nil, nil
	}
	return v.exit(), nil
}

// metaVar returns the variable of the session's environment that holds a key.
func metaVar(key string) string { return "GCM_" + hex.EncodeToString([]byte(key)) }

// SetMeta implements runtime.Provider.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	if _, err := p.query(ctx, "set-environment", "-t", target(name), metaVar(key), "v"+encodeText(value)); err != nil {
		return fmt.Errorf("set meta of %s: %w", name, err)
	}
	return nil
}

// GetMeta implements runtime.Provider.
func (p *Provider) GetMeta(ctx context.Context, name, key string) (string, error) {
	lines, err := p.query(ctx, "show-environment", "-t", target(name), metaVar(key))
	var refused *commandError
	if gone(err) || errors.As(err, &refused) && strings.HasPrefix(refused.message, "unknown variable") {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("meta of %s: %w", name, err)
	}
	for _, l := range lines {
		if v, ok := strings.CutPrefix(l, metaVar(key)+"=v"); ok {
			return decodeText(v), nil
		}
	}
	return "", nil
}

// RemoveMeta implements runtime.Provider.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	_, err := p.query(ctx, "set-environment", "-u", "-t", target(name), metaVar(key))
	return driver.BestEffort("remove meta of", name, err)
}

// CopyTo implements runtime.Provider.
func (p *Provider) CopyTo(ctx context.Context, name, src, relDst string) error {
	v, err := p.live(ctx, name)
	if gone(err) {
		return nil
	}
	if err == nil {
		err = driver.CopyLocal(ctx, v.workDir, src, relDst)
	}
	if err != nil {
		return fmt.Errorf("copy to %s: %w", name, err)
	}
	return nil
}

// RunLive implements runtime.Provider.
func (p *Provider) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	if _, err := p.live(ctx, name); gone(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("run live %s: %w", name, err)
	}
	driver.RunLive(ctx, name, cfg, nil, p.o.Report)
	return nil
}

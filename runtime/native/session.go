package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Stop implements runtime.Provider. It also removes a session that exited.
func (p *Provider) Stop(ctx context.Context, name string) error {
	if runtime.CheckName(name) != nil {
		return nil
	}
	info, err := p.get(ctx, name)
	for err == nil {
		// By id: a session that takes the name meanwhile must not be ended.
		err = p.query(ctx, func(c *client.Client) error { return c.Kill(ctx, info.ID, runtime.Grace(ctx, p.o.StopGrace)) })
		if err != nil && !gone(err) {
			break
		}
		// Otherwise an older one that exited under the same name would reappear.
		if info, err = p.get(ctx, name); err == nil && info.State == api.StateRunning {
			return nil
		}
	}
	return driver.BestEffort("stop", name, err)
}

// StopIdle implements runtime.IdleStopper.
func (p *Provider) StopIdle(ctx context.Context, name string, last time.Time) error {
	info, err := p.get(ctx, name)
	if err != nil || info.State != api.StateRunning {
		return driver.BestEffort("stop", name, err)
	}
	if !p.here(ctx, latest(info)).Equal(last) {
		return fmt.Errorf("stop %s: %w", name, runtime.ErrActive)
	}
	err = p.query(ctx, func(c *client.Client) error { return c.KillUnchanged(ctx, info, runtime.Grace(ctx, p.o.StopGrace)) })
	if errors.Is(err, api.ErrActive) {
		return fmt.Errorf("stop %s: %w", name, runtime.ErrActive)
	}
	return driver.BestEffort("stop", name, err)
}

// latest is the last input or output of a session.
func latest(info api.SessionInfo) time.Time {
	if info.LastInput.After(info.LastOutput) {
		return info.LastInput
	}
	return info.LastOutput
}

// Interrupt implements runtime.Provider.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	err := p.query(ctx, func(c *client.Client) error { return c.Interrupt(ctx, name) })
	return driver.BestEffort("interrupt", name, err)
}

// IsRunning implements runtime.Provider.
func (p *Provider) IsRunning(ctx context.Context, name string) (bool, error) {
	_, err := p.live(ctx, name)
	return driver.YesNo(true, "state of", name, err)
}

// IsAttached implements runtime.Provider.
func (p *Provider) IsAttached(ctx context.Context, name string) (bool, error) {
	info, err := p.live(ctx, name)
	return driver.YesNo(info.Attached > 0, "clients of", name, err)
}

// ProcessAlive implements runtime.Provider.
func (p *Provider) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	if len(names) == 0 {
		return true, nil
	}
	alive := false
	err := p.query(ctx, func(c *client.Client) (err error) {
		alive, err = c.ProcessAlive(ctx, name, names)
		return err
	})
	return driver.YesNo(alive, "processes of", name, err)
}

// ListRunning implements runtime.Provider. Background commands, which the mux hosts
// as sessions too, are left out.
func (p *Provider) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	var infos []api.SessionInfo
	err := p.query(ctx, func(c *client.Client) (err error) {
		infos, err = c.List(ctx, prefix, false)
		return err
	})
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var names []string
	for _, info := range infos {
		if info.State == api.StateRunning && info.Kind != api.KindExec && p.o.Sessions.has(info) {
			names = append(names, info.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// GetLastActivity implements runtime.Provider.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	info, err := p.get(ctx, name)
	if gone(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("activity of %s: %w", name, err)
	}
	return p.here(ctx, latest(info)), nil
}

// CopyTo implements runtime.Provider.
func (p *Provider) CopyTo(ctx context.Context, name, src, relDst string) error {
	info, err := p.live(ctx, name)
	if gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy to %s: %w", name, err)
	}
	copyTo := driver.CopyLocal
	if p.o.Machine != nil {
		copyTo = p.copyThere
	}
	if err := copyTo(ctx, info.WorkDir, src, relDst); err != nil {
		return fmt.Errorf("copy to %s: %w", name, err)
	}
	return nil
}

// RunLive implements runtime.Provider. A failed command is reported as a warning of
// the setup step.
func (p *Provider) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	if _, err := p.live(ctx, name); gone(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("run live %s: %w", name, err)
	}
	var run func(context.Context, string) error // nil: here
	if p.o.Machine != nil {
		run = (&starter{p: p, name: name, cfg: abroad(cfg)}).shellThere
	}
	driver.RunLive(ctx, name, cfg, run, p.o.Report)
	return nil
}

// LastExit implements runtime.ExitReporter.
func (p *Provider) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	info, err := p.get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("exit of %s: %w", name, err)
	}
	if info.State == api.StateRunning {
		return nil, nil
	}
	return p.exit(ctx, info.Exit), nil
}

// SetMeta implements runtime.Provider.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	err := p.query(ctx, func(c *client.Client) error { return c.SetMeta(ctx, name, key, value) })
	if err != nil {
		return fmt.Errorf("set meta of %s: %w", name, err)
	}
	return nil
}

// GetMeta implements runtime.Provider.
func (p *Provider) GetMeta(ctx context.Context, name, key string) (string, error) {
	value := ""
	err := p.query(ctx, func(c *client.Client) (err error) {
		value, err = c.GetMeta(ctx, name, key)
		return err
	})
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("meta of %s: %w", name, err)
	}
	return value, nil
}

// RemoveMeta implements runtime.Provider.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	err := p.query(ctx, func(c *client.Client) error { return c.RemoveMeta(ctx, name, key) })
	return driver.BestEffort("remove meta of", name, err)
}

// ConfigureServer implements runtime.ServerLifecycleProvider.
func (p *Provider) ConfigureServer(ctx context.Context) error {
	_, err := p.EnsureClient(ctx)
	return convert(err)
}

// TeardownServer implements runtime.ServerLifecycleProvider. A server that still
// keeps last screens is left running; it ends by itself once it has dropped them.
func (p *Provider) TeardownServer(ctx context.Context) error {
	c, err := p.Client(ctx)
	if errors.Is(err, api.ErrNoServer) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop the mux server: %w", convert(err))
	}
	if s, err := c.Status(ctx); err == nil && s.Exited > 0 {
		return nil
	}
	err = c.Shutdown(ctx, false)
	if errors.Is(err, api.ErrUnreachable) { // it may have ended by itself
		p.drop(c)
		if _, derr := p.Client(ctx); errors.Is(derr, api.ErrNoServer) {
			return nil
		}
	}
	if err != nil && !errors.Is(err, api.ErrBusy) {
		return fmt.Errorf("stop the mux server: %w", convert(err))
	}
	if err == nil {
		p.drop(c)
	}
	return nil
}

package native

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// WaitForIdle implements runtime.IdleWaitProvider: the activity is idle or done.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	info, err := p.live(inner, name)
	if err == nil {
		_, err = p.wait(inner, info.ID, []api.Condition{{Idle: true}})
	}
	if err != nil {
		return fmt.Errorf("idle %s: %w", name, err)
	}
	return nil
}

func (p *Provider) wait(ctx context.Context, id string, conditions []api.Condition) (int, error) {
	var r api.WaitResult
	err := p.query(ctx, func(c *client.Client) (err error) {
		r, err = c.Wait(ctx, id, api.WaitRequest{Conditions: conditions})
		return err
	})
	if err == nil && r.Met < 0 {
		err = runtime.ErrSessionNotFound
	}
	return r.Met, err
}

// AwaitFirstIdle implements runtime.StartupProvider. It reads the screen only when
// the server reports the session idle or blocked.
func (p *Provider) AwaitFirstIdle(ctx context.Context, name string, cfg runtime.Config) error {
	info, err := p.live(ctx, name)
	if err != nil {
		return fmt.Errorf("first idle of %s: %w", name, err)
	}
	s := &starter{p: p, name: name, cfg: cfg, id: info.ID}
	err = driver.AwaitFirstIdle(ctx, name, cfg, s.hooks(), driver.StartupWaits{
		Idle: func(ctx context.Context) (bool, error) {
			met, err := p.wait(ctx, info.ID, []api.Condition{{Idle: true}, {Blocked: true}})
			return met == 0, err
		},
		Changed: func(ctx context.Context) error {
			_, err := p.wait(ctx, info.ID, []api.Condition{{Changed: &s.revision}, {Idle: true}})
			return err
		},
	})
	if err != nil {
		return fmt.Errorf("first idle of %s: %w", name, err)
	}
	return nil
}

// Box returns where commands beside the agent run: on the session's machine, in the work
// dir and with the environment of the session's leader.
func (p *Provider) Box(ctx context.Context, name string) (dir string, env map[string]string, err error) {
	info, err := p.live(ctx, name)
	if err != nil {
		return "", nil, err
	}
	env, err = p.programEnv(ctx, info)
	return info.WorkDir, env, err
}

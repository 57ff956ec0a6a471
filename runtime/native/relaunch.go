package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// volatile reports whether programs set the variable themselves; a new program starts
// without it.
func volatile(name, _ string) bool {
	switch name {
	case "_", "SHLVL", "PWD", "OLDPWD", "TERM", "COLORTERM":
		return true
	}
	return false
}

// Relaunch implements runtime.RelaunchProvider. The multiplexer ties a terminal to
// its program's life, so the session is recreated in place: same name, work dir,
// size, environment, files and metadata, without the start sequence. Scrollback and
// attached terminals are lost.
func (p *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	release, ok := p.starts.Hold(name)
	if !ok {
		return fmt.Errorf("relaunch %s: %w", name, runtime.ErrSessionInitializing)
	}
	defer release()
	if err := p.relaunch(ctx, name, cfg); err != nil {
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	return nil
}

func (p *Provider) relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	info, err := p.live(ctx, name)
	if err != nil {
		return err
	}
	was, err := p.programEnv(ctx, info)
	if errors.Is(err, runtime.ErrBackendUnreachable) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: environment of the session: %w", runtime.ErrRelaunchUnsupported, err)
	}
	maps.DeleteFunc(was, volatile)
	if p.o.Machine != nil {
		cfg = abroad(cfg)
	}
	for k, v := range cfg.Env {
		if v == "" {
			delete(was, k)
		} else {
			was[k] = v
		}
	}
	var env []string
	for k, v := range was {
		env = append(env, k+"="+v)
	}
	cfg.WorkDir = info.WorkDir
	line, err := p.commandLine(ctx, name, cfg)
	if err != nil {
		return err
	}
	var meta map[string]string
	err = p.query(ctx, func(c *client.Client) (err error) { meta, err = c.Meta(ctx, info.ID); return err })
	if err != nil {
		return err
	}
	// Cancelling ctx from here on would leave no session at all.
	ctx = context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(ctx, createLimit+p.o.StopGrace)
	defer cancel()
	err = p.query(ctx, func(c *client.Client) error { return c.Kill(ctx, info.ID, p.o.StopGrace) })
	if err != nil && !gone(err) {
		return err
	}
	id, own := info.ID, was[proctree.SessionVar] != "" && was[proctree.SessionVar] != info.ID
	if own { // GC_SESSION_ID belongs to the program
		id = ""
	}
	return p.send(ctx, func(c *client.Client) error {
		_, err := c.Create(ctx, api.CreateRequest{
			ID: id, KeepSessionID: own, Name: name, Command: strings.TrimSpace(line), WorkDir: info.WorkDir, Env: env, Meta: meta,
			Cols: info.Size.Cols, Rows: info.Size.Rows,
			ScrollbackLines: cfg.ScrollbackLines, ScrollbackBytes: cfg.ScrollbackBytes,
			ReadyPrefix: cmp.Or(cfg.ReadyPromptPrefix, info.ReadyPrefix), StatusRules: cfg.StatusRules, LimitRules: cfg.LimitRules, Composer: cfg.Composer,
			ReportsStatus: cfg.ReportsStatus, InterruptKeys: cfg.InterruptKeys, StuckAfter: clock.Millis(cfg.StuckAfter), Limits: limits(cfg.Resources),
		})
		return err
	})
}

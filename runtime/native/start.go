package native

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Start implements runtime.Provider.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if p.o.Machine != nil {
		cfg = abroad(cfg)
	}
	s := &starter{p: p, name: name, cfg: cfg}
	// The server itself refuses a name that is in use. It need not be asked first if
	// nothing is done before the session is created, and the server answered
	// recently.
	known := !s.prepares() && p.proved()
	return p.starts.Start(name, func() error {
		if known {
			known = false
			return runtime.ErrSessionNotFound
		}
		_, err := p.live(ctx, name)
		return err
	}, func() (bool, error) {
		if err := s.makeWorkDir(ctx); err != nil {
			return false, err
		}
		err := driver.RunStart(ctx, name, cfg, s.hooks())
		return s.id != "", err
	})
}

// starter is one start: the hooks of the sequence, and the last observed state of the
// session.
type starter struct {
	p    *Provider
	name string
	cfg  runtime.Config
	id   string // of the incarnation; "" before it exists

	revision uint64 // of the screen as last read
	looked   bool
}

// prepares reports whether anything happens before the session is created that must
// not happen beside a running session of the name: commands, files, a long prompt.
func (s *starter) prepares() bool {
	c := &s.cfg
	return len(c.PreStart)+len(c.PackOverlayDirs)+len(c.CopyFiles) > 0 || c.OverlayDir != "" || len(c.PromptSuffix) > shortPrompt
}

func (s *starter) hooks() driver.Hooks {
	h := driver.Hooks{
		Create: s.create, Destroy: s.destroy, Ended: s.ended, Alive: s.alive,
		Screen: s.screen, Changed: s.changed, Keys: s.keys, Nudge: s.nudge,
		Report: s.p.o.Report, Limits: s.p.o.Limits,
	}
	if s.p.o.Machine != nil {
		h.PreStart, h.Setup, h.Stage = s.shellThere, s.shellThere, s.stageThere
	}
	return h
}

func (s *starter) create(ctx context.Context) error {
	if err := s.checkWorkDir(ctx); err != nil {
		return err
	}
	line, err := s.p.commandLine(ctx, s.name, s.cfg)
	if err != nil {
		return err
	}
	c, err := s.p.EnsureClient(ctx)
	if err != nil {
		return s.p.startError(err)
	}
	if !s.p.proved() { // the server may have ended meanwhile
		if _, err := c.Status(ctx); errors.Is(err, api.ErrUnreachable) {
			s.p.drop(c)
			if c, err = s.p.EnsureClient(ctx); err != nil {
				return s.p.startError(err)
			}
		}
	}
	made := make(chan error, 1)
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), createLimit)
	go func() {
		defer cancel()
		made <- s.make(detached, c, line)
	}()
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
	}
	// The request may have arrived: no unknown session may stay. A hung server is not
	// waited for much longer.
	select {
	case err := <-made:
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		return errors.Join(ctx.Err(), s.destroy(context.WithoutCancel(ctx)))
	case <-time.After(createGrace):
		cancel()
		return errors.Join(ctx.Err(), <-made)
	}
}

const (
	createLimit = 30 * time.Second // for the server to create a session
	createGrace = 3 * time.Second  // for the same, after the caller gave up

	shortPrompt = 16 << 10 // bytes of a prompt that certainly fits into an argument

	provedTime = 50 * time.Millisecond // how long a server that answered is assumed to run
)

// createOnce creates the session. On another machine the connection may be cut before the
// reply: then it asks whether the session exists, and creates it only if it does not.
func (s *starter) createOnce(ctx context.Context, c *client.Client, r api.CreateRequest) (api.SessionInfo, error) {
	if s.p.o.Machine == nil {
		return c.Create(ctx, r)
	}
	if r.ID == "" { // as the server's ids, which sort by age
		r.ID = fmt.Sprintf("%012x%s", time.Now().UnixMilli(), strings.ToLower(rand.Text()[:12]))
	}
	for cut := false; ; cut = true {
		info, err := c.Create(ctx, r)
		if cut && errors.Is(err, api.ErrExists) {
			if ours, gerr := c.Get(ctx, r.ID); gerr == nil && ours.ID == r.ID {
				return ours, nil
			}
		}
		if !errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrFrozen) {
			return info, err
		}
		s.p.drop(c)
		for errors.Is(err, api.ErrUnreachable) {
			if clock.Sleep(ctx, createAgain) != nil {
				return info, err
			}
			if c, err = s.p.EnsureClient(ctx); err == nil {
				info, err = c.Get(ctx, r.ID)
			}
		}
		if !errors.Is(err, api.ErrNotFound) {
			return info, err
		}
	}
}

// createAgain is the pause between attempts to learn whether a session was created.
const createAgain = 250 * time.Millisecond

// checkWorkDir returns an error unless the work dir exists.
func (s *starter) checkWorkDir(ctx context.Context) error {
	dir := s.cfg.WorkDir
	if dir == "" {
		return nil
	}
	if s.p.o.Machine != nil {
		_, err := s.p.o.Machine.Dir(ctx, dir, false)
		return away(err)
	}
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("work dir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("work dir %s: not a directory", dir)
	}
	return nil
}

// make creates the session.
func (s *starter) make(ctx context.Context, c *client.Client, line string) error {
	environ, base := s.p.o.Environ, s.cfg.BaseEnv
	if s.p.o.Machine != nil {
		var err error
		if environ, base, err = s.inheritThere(ctx); err != nil {
			return convert(err)
		}
	}
	info, err := s.createOnce(ctx, c, api.CreateRequest{
		ID: sessionID(s.cfg.Env), Name: s.name, Command: line, WorkDir: s.cfg.WorkDir,
		Env:  runtime.Environment(environ, base, s.cfg.Env),
		Cols: s.cfg.Cols, Rows: s.cfg.Rows,
		ScrollbackLines: s.cfg.ScrollbackLines, ScrollbackBytes: s.cfg.ScrollbackBytes,
		ReadyPrefix: s.cfg.ReadyPromptPrefix, StatusRules: s.cfg.StatusRules, LimitRules: s.cfg.LimitRules, Composer: s.cfg.Composer,
		FirstMessage: driver.FirstMessage(s.cfg), ReportsStatus: s.cfg.ReportsStatus, InterruptKeys: s.cfg.InterruptKeys, StuckAfter: clock.Millis(s.cfg.StuckAfter), Recording: s.cfg.Record, RecordingMax: s.cfg.RecordMax, Limits: limits(s.cfg.Resources),
		Control: s.cfg.Control,
	})
	if err != nil {
		return s.p.startError(err)
	}
	s.id = info.ID
	return nil
}

// limits converts the resource limits of a config.
func limits(r runtime.Resources) api.Limits {
	return api.Limits{MemoryBytes: r.MemoryBytes, CPUs: r.CPUs, PIDs: int64(r.PIDs)}
}

// sessionID returns the incarnation's id from config, "" if it has none or an
// unusable one. It is in the environment of every process.
func sessionID(env map[string]string) string {
	id := env[proctree.SessionVar]
	if runtime.CheckName(id) != nil {
		return ""
	}
	return id
}

func (s *starter) destroy(ctx context.Context) error {
	err := s.p.query(ctx, func(c *client.Client) error { return c.Kill(ctx, s.id, s.p.o.StopGrace) })
	if gone(err) {
		return nil
	}
	return err
}

func (s *starter) ended(ctx context.Context) (*runtime.Exit, error) {
	var info api.SessionInfo
	err := s.p.query(ctx, func(c *client.Client) (err error) {
		info, err = c.Get(ctx, s.id)
		return err
	})
	switch {
	case gone(err):
		return &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown, Time: time.Now()}, nil
	case err != nil:
		return nil, err
	case info.State == api.StateRunning:
		return nil, nil
	}
	return s.p.exit(ctx, info.Exit), nil
}

// exit returns an exit with its time on this machine's clock, or an unknown one for nil.
func (p *Provider) exit(ctx context.Context, e *runtime.Exit) *runtime.Exit {
	e = orUnknown(e)
	if p.o.Machine != nil {
		here := *e
		here.Time = p.here(ctx, e.Time)
		return &here
	}
	return e
}

// orUnknown returns e, or an unknown exit for nil.
func orUnknown(e *runtime.Exit) *runtime.Exit {
	return cmp.Or(e, &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown})
}

func (s *starter) alive(ctx context.Context, names []string) (alive bool, err error) {
	err = s.p.query(ctx, func(c *client.Client) (err error) {
		alive, err = c.ProcessAlive(ctx, s.id, names)
		return err
	})
	if gone(err) {
		return false, nil
	}
	return alive, err
}

func (s *starter) screen(ctx context.Context) (string, error) {
	var r api.PeekResult
	err := s.p.query(ctx, func(c *client.Client) (err error) {
		r, err = c.Peek(ctx, api.PeekRequest{Name: s.id, Screen: true})
		return err
	})
	if gone(err) {
		return "", nil
	}
	s.revision, s.looked = r.Revision, true
	return r.Text, err
}

// changed waits for a revision of the screen newer than the one last read, or for the
// session's end; the server pushes both.
func (s *starter) changed(ctx context.Context) error {
	if !s.looked {
		if _, err := s.screen(ctx); err != nil {
			return err
		}
	}
	revision := s.revision
	_, err := s.p.wait(ctx, s.id, []api.Condition{{Changed: &revision}, {Exit: true}})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if gone(err) {
		return nil
	}
	return err
}

func (s *starter) keys(ctx context.Context, keys ...string) error {
	err := s.p.send(ctx, func(c *client.Client) error { return c.Keys(ctx, s.id, keys, false) })
	if gone(err) {
		return nil
	}
	return err
}

func (s *starter) nudge(ctx context.Context, text string) (runtime.Receipt, error) {
	return s.p.nudge(ctx, s.id, api.NudgeRequest{Text: text})
}

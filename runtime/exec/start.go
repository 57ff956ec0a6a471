package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Start implements runtime.Provider. The start sequence runs here; the script creates
// the session and returns.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	var h *handshake
	s := &starter{p: p, name: name, cfg: cfg}
	return p.starts.Start(name, func() (err error) {
		if h == nil {
			if h, err = p.handshake(ctx); err != nil {
				return err
			}
		}
		return p.live(context.WithoutCancel(ctx), name)
	}, func() (bool, error) {
		err := driver.RunStart(ctx, name, cfg, s.hooks(h))
		if err != nil && s.boxed && !s.created && !errors.Is(err, runtime.ErrSessionExists) {
			err = s.undo(ctx, err)
		}
		return s.created, err
	})
}

// starter is one start, or one session that the hooks act on.
type starter struct {
	p       *Provider
	name    string
	cfg     runtime.Config
	created bool
	boxed   bool // provision created the box
}

// hooks reach the session through the script; h may be nil for a session that is not
// being started.
func (s *starter) hooks(h *handshake) driver.Hooks {
	hooks := driver.Hooks{
		Create: func(ctx context.Context) error { return s.create(ctx, h) }, Destroy: s.destroy,
		Ended: s.ended, Alive: s.alive, Screen: s.screen, Keys: s.keys, Nudge: s.nudge,
		Report: s.p.o.Report, Limits: s.p.o.Limits,
	}
	if h == nil {
		return hooks
	}
	if h.has(capStartNudge) {
		hooks.Nudge = nil // the script types it
	}
	if h.has(capProvision) && h.has(capExec) {
		hooks.PreStart = s.preStart
	}
	if h.has(capExec) {
		hooks.Setup = s.inBox
	}
	return hooks
}

// preStart is inBox before the session exists; the first command creates the box.
func (s *starter) preStart(ctx context.Context, line string) error {
	if !s.boxed {
		config, err := encodeConfig(s.name, s.cfg, false)
		if err != nil {
			return err
		}
		r := request{op: opProvision, name: s.name, stdin: config, keeps: true}
		a, err := s.p.call(ctx, r)
		if err == nil && a.code != 0 {
			err = s.p.failure(ctx, r, a)
		}
		if err != nil {
			return err
		}
		s.boxed = true
	}
	return s.inBox(ctx, line)
}

// inBox runs one shell command from config where the agent runs.
func (s *starter) inBox(ctx context.Context, line string) error {
	r := request{op: opExec, name: s.name, noEnd: true,
		stdin: "GC_SESSION=" + shell.Quote(s.name) + " GC_DIR=" + shell.Quote(s.cfg.WorkDir) + "\n" +
			"export GC_SESSION GC_DIR\n" + line}
	a, err := s.p.call(ctx, r)
	if err == nil && a.code != 0 {
		text := strings.Trim(message(a.out)+"; "+a.stderr, "; ")
		err = fmt.Errorf("%q: exit status %d: %s", line, a.code, text)
	}
	return err
}

// create creates the session. If ctx ends meanwhile, a session that nothing knows may
// exist: it is removed.
func (s *starter) create(ctx context.Context, h *handshake) error {
	config, err := encodeConfig(s.name, s.cfg, h.has(capStartNudge))
	if err != nil {
		return err
	}
	r := request{op: opStart, name: s.name, stdin: config, noEnd: true, keeps: true}
	s.p.startBegins(s.name)
	a, err := s.p.call(ctx, r)
	s.p.startEnds(s.name, err == nil && a.code == 0)
	if err != nil {
		return s.undo(ctx, err)
	}
	if a.code != 0 {
		return s.p.failure(ctx, r, a)
	}
	s.created = true
	err = driver.KeepComposer(ctx, s.p, s.name, s.cfg.Composer)
	if err == nil {
		err = driver.KeepScreenRules(ctx, s.p, s.name, s.cfg)
	}
	if err == nil && s.cfg.ReadyPromptPrefix != "" {
		err = s.p.SetMeta(ctx, s.name, readyMeta, s.cfg.ReadyPromptPrefix)
	}
	if err != nil && !gone(err) {
		return s.undo(ctx, err)
	}
	return nil
}

// undoLimit bounds how long a failed start may take to remove what it made.
const undoLimit = 15 * time.Second

func (s *starter) undo(ctx context.Context, err error) error {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	if derr := s.destroy(clean); derr != nil {
		return errors.Join(err, fmt.Errorf("clean up: %w", derr))
	}
	return err
}

func (s *starter) destroy(ctx context.Context) error { return s.p.Stop(ctx, s.name) }

func (s *starter) ended(ctx context.Context) (*runtime.Exit, error) {
	running, err := s.p.IsRunning(ctx, s.name)
	if err != nil || running {
		return nil, err
	}
	e, err := s.p.LastExit(ctx, s.name)
	switch {
	case err == nil && e != nil:
		return e, nil
	case err == nil, gone(err), errors.Is(err, runtime.ErrUnsupported):
		return &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown}, nil
	}
	return nil, err
}

func (s *starter) alive(ctx context.Context, names []string) (bool, error) {
	return s.p.ProcessAlive(ctx, s.name, names)
}

// defaultRows is the height of a session without one in config.
const defaultRows = 40

func (s *starter) screen(ctx context.Context) (string, error) {
	rows := s.cfg.Rows
	if rows <= 0 {
		rows = defaultRows
	}
	text, err := s.p.screen(ctx, s.name, rows)
	if gone(err) {
		return "", nil
	}
	return text, err
}

// keys presses nothing if the script has no keys: a dialog that needs some then does
// not change.
func (s *starter) keys(ctx context.Context, keys ...string) error {
	err := s.p.SendKeys(ctx, s.name, keys...)
	if errors.Is(err, runtime.ErrUnsupported) {
		return nil
	}
	return err
}

func (s *starter) nudge(ctx context.Context, text string) (runtime.Receipt, error) {
	text, changed := s.cfg.Composer.Plain(text)
	r, err := s.p.nudge(ctx, s.name, text)
	r.Changed = changed
	return r, err
}

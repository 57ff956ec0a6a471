// Package driver is what providers are built with: the start sequence over a
// backend's hooks, start-up dialogs, staging, setup commands, reading an agent's
// screen, and the client side of an attach.
//
// It reaches a session only through hooks: it knows no backend, and never decides
// that a session should start or end. Providers call it, and commands that act as
// one (gc session-op); callers of a runtime.Provider do not.
package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/runtime"
)

// Hooks is how the start sequence reaches one session of a backend. Create and
// Destroy are required. Steps whose hook is nil are skipped. Every hook honours
// its context.
type Hooks struct {
	PreStart func(ctx context.Context, line string) error // nil: here, with /bin/sh
	Setup    func(ctx context.Context, line string) error // setup and live commands; nil: here, with /bin/sh
	Stage    func(ctx context.Context) error              // nil: into the local WorkDir

	// Create makes the session and runs the command line (see CommandLine).
	Create func(ctx context.Context) error
	// Destroy ends the session that Create made and leaves nothing behind.
	Destroy func(ctx context.Context) error

	// Ended returns nil while the session runs.
	Ended func(ctx context.Context) (*runtime.Exit, error)
	Alive func(ctx context.Context, names []string) (bool, error)

	// Screen returns the live screen without scrollback.
	Screen func(ctx context.Context) (string, error)
	// Changed returns when the session may differ from the last answer of Screen,
	// Alive or Ended. nil: they are polled.
	Changed func(ctx context.Context) error
	Keys    func(ctx context.Context, keys ...string) error
	Nudge   func(ctx context.Context, text string) (runtime.Receipt, error)

	Report func(runtime.Step) // called after each step; may be nil
	Limits Limits             // zero values are the contract's
}

// Limits bounds the waits of the sequence. A wait that reaches its limit is a
// warning.
type Limits struct {
	Alive   time.Duration // for one of ProcessNames; 30 s
	Ready   time.Duration // for the prompt prefix; 60 s
	Dialogs time.Duration // for all start-up dialogs; 20 s
	Settle  time.Duration // how long an unknown dialog must be open to count; 2 s
	Still   time.Duration // how long the prompt must be open to count: a dialog is painted in parts; 50 ms
	Asks    time.Duration // how long a question must be open before an answer's first key; 700 ms
	Quiet   time.Duration // how long a known dialog must be unchanged before its first key; 200 ms
	Move    time.Duration // for the selection to follow a key; 2 s
	Gone    time.Duration // for a dialog to close after Enter; 10 s
	Poll    time.Duration // between polls, without Changed; 100 ms
}

const defaultSetupTimeout = 10 * time.Second

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&l.Alive, 30*time.Second)
	set(&l.Ready, 60*time.Second)
	set(&l.Dialogs, 20*time.Second)
	set(&l.Settle, 2*time.Second)
	set(&l.Still, 50*time.Millisecond)
	set(&l.Asks, 700*time.Millisecond)
	set(&l.Quiet, 200*time.Millisecond)
	set(&l.Move, 2*time.Second)
	set(&l.Gone, 10*time.Second)
	set(&l.Poll, 100*time.Millisecond)
	return l
}

// sequence is one run of the start sequence.
type sequence struct {
	name   string
	cfg    runtime.Config
	h      Hooks
	lim    Limits
	table  []rule.Dialog
	ended  bool // a one_shot session has ended: skip the remaining steps
	waits  bool // for a person: type nothing
	answer *answerer
}

// cleanUp bounds how long a failed start may take to remove what it made, even
// after its context has ended.
const cleanUp = 15 * time.Second

// RunStart runs the start sequence: PreStart, staging, create, alive, setup, ready,
// dialogs, nudge. It is the only implementation; providers supply hooks.
//
// The error matches ErrSessionDiedDuringStartup (a *StartupDeath) or
// ErrStartupBlocked (a *StartupBlocked), or is that of the step that failed. On
// error the session has been destroyed.
func RunStart(ctx context.Context, name string, cfg runtime.Config, h Hooks) error {
	s := &sequence{name: name, cfg: cfg, h: h, lim: h.Limits.withDefaults()}
	s.table = dialogTable(cfg)
	s.answer = &answerer{session: name, h: h, lim: s.lim, table: s.table, prompt: cfg.ReadyPromptPrefix}
	created := false
	steps := []struct {
		name runtime.StepName
		skip bool
		run  func(context.Context) error
	}{
		{runtime.StepPreStart, len(cfg.PreStart) == 0, s.preStart},
		{runtime.StepStage, !s.stages(), s.stage},
		{runtime.StepCreate, false, func(ctx context.Context) error {
			err := h.Create(ctx)
			created = err == nil
			return err
		}},
		{runtime.StepAlive, len(cfg.ProcessNames) == 0 || h.Alive == nil, s.alive},
		{runtime.StepSetup, !s.setsUp(), s.setup},
		{runtime.StepReady, !s.waitsReady(), s.ready},
		{runtime.StepDialogs, !s.dialogsOn(), s.dialogs},
		{runtime.StepNudge, cfg.Nudge == "" || h.Nudge == nil, s.nudge},
	}
	for _, st := range steps {
		if st.skip || s.ended {
			continue
		}
		if err := s.step(ctx, st.name, st.run); err != nil {
			if !created {
				return err
			}
			return s.undo(ctx, err)
		}
	}
	return nil
}

// warning marks an error that is reported without failing the start.
type warning struct{ error }

func (w warning) Unwrap() error { return w.error }

func (s *sequence) step(ctx context.Context, name runtime.StepName, run func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	begin := time.Now()
	err := run(ctx)
	var w warning
	warned := errors.As(err, &w) && ctx.Err() == nil
	if s.h.Report != nil {
		s.h.Report(runtime.Step{Session: s.name, Name: name, Took: time.Since(begin), Err: err, Warning: warned})
	}
	if err == nil || warned {
		return nil
	}
	if errors.Is(err, runtime.ErrSessionDiedDuringStartup) || errors.Is(err, runtime.ErrStartupBlocked) || name == runtime.StepCreate {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// undo destroys the session, even if ctx has ended.
func (s *sequence) undo(ctx context.Context, err error) error {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if derr := s.h.Destroy(clean); derr != nil {
		return errors.Join(err, fmt.Errorf("clean up: %w", derr))
	}
	return err
}

func (s *sequence) preStart(ctx context.Context) error {
	run := s.h.PreStart
	if run == nil {
		run = func(ctx context.Context, line string) error {
			return runShell(ctx, line, s.cfg.WorkDir, setupEnv(s.name, s.cfg))
		}
	}
	for _, line := range s.cfg.PreStart {
		if err := s.limited(ctx, line, run); err != nil {
			return err
		}
	}
	return nil
}

// limited runs one pre-start command within its own limit.
func (s *sequence) limited(ctx context.Context, line string, run func(context.Context, string) error) error {
	limit := s.cfg.PreStartTimeout
	if limit <= 0 {
		return run(ctx, line)
	}
	one, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := run(one, line)
	if err != nil && one.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%q did not finish within %v: %w", line, limit, context.DeadlineExceeded)
	}
	return err
}

// stages reports whether step 2 has input.
func (s *sequence) stages() bool {
	return len(s.cfg.PackOverlayDirs) > 0 || s.cfg.OverlayDir != "" || len(s.cfg.CopyFiles) > 0
}

func (s *sequence) stage(ctx context.Context) error {
	if s.h.Stage != nil {
		return s.h.Stage(ctx)
	}
	return StageLocal(ctx, s.cfg)
}

// setsUp reports whether step 5 has input.
func (s *sequence) setsUp() bool {
	return len(s.cfg.SessionSetup) > 0 || s.cfg.SessionSetupScript != "" || len(s.cfg.SessionLive) > 0
}

func (s *sequence) setup(ctx context.Context) error {
	lines := slices.Clone(s.cfg.SessionSetup)
	lines = append(lines, s.cfg.SessionSetupScript)
	lines = append(lines, s.cfg.SessionLive...)
	if err := RunSetup(ctx, s.name, s.cfg, lines, s.h.Setup); err != nil {
		return warning{err}
	}
	return s.checkAlive(ctx)
}

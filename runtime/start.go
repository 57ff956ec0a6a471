package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/staging"
)

// StepName names a step of the start sequence, in events and errors.
type StepName string

// The steps, in order.
const (
	StepPreStart StepName = "pre_start"
	StepStage    StepName = "stage"
	StepCreate   StepName = "create"
	StepAlive    StepName = "alive"
	StepSetup    StepName = "setup"
	StepReady    StepName = "ready"
	StepDialogs  StepName = "dialogs"
	StepNudge    StepName = "nudge"

	// StepAccepted is no step of its own: a start-up dialog was answered, in the
	// start or after it. See Step.Accepted.
	StepAccepted StepName = "accepted"
)

// Step is the report of one step that ran.
type Step struct {
	Session string
	Name    StepName
	Took    time.Duration
	Err     error
	Warning bool // Err did not end the start

	Accepted *Accepted // StepAccepted only
}

// Accepted is a start-up dialog that was answered on the user's behalf.
type Accepted struct {
	Dialog   string // name in the table
	Kind     string // "trust", "permission", "question"
	Question string // the line that identified it
	Label    string // the option that was confirmed
}

// Hooks is how the start sequence reaches one session of a backend. Create and
// Destroy are required. A step that needs a hook which is nil is skipped.
// Every hook honours its context.
type Hooks struct {
	PreStart func(ctx context.Context, line string) error // nil: here, by /bin/sh
	Setup    func(ctx context.Context, line string) error // of setup and live commands; nil: here, by /bin/sh
	Stage    func(ctx context.Context) error              // nil: into the local WorkDir

	// Create makes the session and runs the command line (see CommandLine).
	Create func(ctx context.Context) error
	// Destroy ends the session that Create made and leaves nothing behind.
	Destroy func(ctx context.Context) error

	// Ended returns nil while the session runs.
	Ended func(ctx context.Context) (*Exit, error)
	Alive func(ctx context.Context, names []string) (bool, error)

	// Screen returns the live screen without scrollback.
	Screen func(ctx context.Context) (string, error)
	// Changed returns when the session may differ from what the last Screen,
	// Alive or Ended said: its screen, its processes or its end. nil: polling.
	Changed func(ctx context.Context) error
	Keys    func(ctx context.Context, keys ...string) error
	Nudge   func(ctx context.Context, text string) (Receipt, error)

	Report func(Step) // called after each step; may be nil
	Limits Limits     // zero values are the contract's
}

// Limits bounds the waits of the sequence. When one passes it is a warning.
type Limits struct {
	Alive   time.Duration // for one of ProcessNames; 30 s
	Ready   time.Duration // for the prompt prefix; 60 s
	Dialogs time.Duration // for all start-up dialogs; 20 s
	Settle  time.Duration // an unknown dialog stands this long before it counts; 2 s
	Still   time.Duration // the prompt stands this long before it counts: a dialog is painted in parts; 50 ms
	Quiet   time.Duration // a known dialog stands unchanged this long before its first key; 200 ms
	Move    time.Duration // for the selection to follow a key; 2 s
	Gone    time.Duration // for a dialog to go after Enter; 10 s
	Poll    time.Duration // between two looks without Changed; 100 ms
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
	set(&l.Quiet, 200*time.Millisecond)
	set(&l.Move, 2*time.Second)
	set(&l.Gone, 10*time.Second)
	set(&l.Poll, 100*time.Millisecond)
	return l
}

// sequence is one run of the start sequence.
type sequence struct {
	name   string
	cfg    Config
	h      Hooks
	lim    Limits
	table  []rule.Dialog
	ended  bool // a one_shot session is over: the rest has no object
	waits  bool // for a person: nothing is typed
	answer *answerer
}

// cleanUp is how long a failed start may take to remove what it made, after
// its own context has ended.
const cleanUp = 15 * time.Second

// RunStart carries out the start sequence: PreStart, staging, create, alive,
// setup, ready, dialogs, nudge. It is the only implementation; a provider
// brings hooks.
//
// The error matches ErrSessionDiedDuringStartup (a *StartupDeath), or
// ErrStartupBlocked (a *StartupBlocked), or is the error of the step that
// failed. On error the session was destroyed.
func RunStart(ctx context.Context, name string, cfg Config, h Hooks) error {
	s := &sequence{name: name, cfg: cfg, h: h, lim: h.Limits.withDefaults()}
	s.table = dialogTable(cfg)
	s.answer = &answerer{session: name, h: h, lim: s.lim, table: s.table, prompt: cfg.ReadyPromptPrefix}
	created := false
	steps := []struct {
		name StepName
		skip bool
		run  func(context.Context) error
	}{
		{StepPreStart, len(cfg.PreStart) == 0, s.preStart},
		{StepStage, !s.stages(), s.stage},
		{StepCreate, false, func(ctx context.Context) error {
			err := h.Create(ctx)
			created = err == nil
			return err
		}},
		{StepAlive, len(cfg.ProcessNames) == 0 || h.Alive == nil, s.alive},
		{StepSetup, !s.setsUp(), s.setup},
		{StepReady, !s.waitsReady(), s.ready},
		{StepDialogs, !s.dialogsOn(), s.dialogs},
		{StepNudge, cfg.Nudge == "" || h.Nudge == nil, s.nudge},
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

func (s *sequence) step(ctx context.Context, name StepName, run func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	begin := time.Now()
	err := run(ctx)
	var w warning
	warned := errors.As(err, &w) && ctx.Err() == nil
	if s.h.Report != nil {
		s.h.Report(Step{Session: s.name, Name: name, Took: time.Since(begin), Err: err, Warning: warned})
	}
	if err == nil || warned {
		return nil
	}
	if errors.Is(err, ErrSessionDiedDuringStartup) || errors.Is(err, ErrStartupBlocked) || name == StepCreate {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// undo destroys the session, also when ctx is over.
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

// limited gives one pre-start command its time.
func (s *sequence) limited(ctx context.Context, line string, run func(context.Context, string) error) error {
	limit := s.cfg.PreStartTimeout
	if limit <= 0 {
		return run(ctx, line)
	}
	one, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := run(one, line)
	if err != nil && one.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%q is not done after %v: %w", line, limit, context.DeadlineExceeded)
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

// StageLocal is step 2 for a work dir on this machine: overlays, then
// CopyFiles. A path that leads out of its tree is ErrPathEscapes.
func StageLocal(ctx context.Context, cfg Config) error {
	if cfg.WorkDir == "" {
		return errors.New("files to stage, but no work dir")
	}
	if info, err := os.Stat(cfg.WorkDir); err != nil {
		return fmt.Errorf("work dir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("work dir %s is no folder", cfg.WorkDir)
	}
	dirs := slices.Clone(cfg.PackOverlayDirs)
	if cfg.OverlayDir != "" {
		dirs = append(dirs, cfg.OverlayDir)
	}
	slots := staging.Slots(dirs, cfg.ProviderOverlayName, cfg.ProviderName, cfg.InstallAgentHooks)
	if err := staging.Overlay(ctx, cfg.WorkDir, dirs, slots); err != nil {
		return stagingError(err)
	}
	copies := make([]staging.Copy, len(cfg.CopyFiles))
	for i, c := range cfg.CopyFiles {
		copies[i] = staging.Copy{Src: c.Src, RelDst: c.RelDst, Optional: c.Probed}
	}
	return stagingError(staging.CopyAll(ctx, cfg.WorkDir, copies))
}

// CopyLocal is CopyTo for a work dir on this machine: nil for a missing
// source, ErrPathEscapes for a path or link that leads out of its tree.
func CopyLocal(ctx context.Context, workDir, src, relDst string) error {
	return stagingError(staging.CopyAll(ctx, workDir, []staging.Copy{{Src: src, RelDst: relDst, Optional: true}}))
}

func stagingError(err error) error {
	if errors.Is(err, staging.ErrEscapes) {
		return fmt.Errorf("%w: %w", ErrPathEscapes, err)
	}
	return err
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

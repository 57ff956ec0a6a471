package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/host"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// Times of a start.
const (
	cleanUp  = 15 * time.Second // for a failed start to remove what it made
	askAgain = 50 * time.Millisecond
)

// Start implements runtime.Provider: the base starts the host, which starts the agent
// and negotiates with it.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if cfg.ACP == nil || cfg.ACP.Command == "" {
		return fmt.Errorf("start %s: %w: the agent has no command for ACP", name, runtime.ErrUnsupported)
	}
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	file, err := p.send(ctx, p.launch(name, cfg))
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.o.Base.Start(ctx, name, p.hosted(cfg, file)); err != nil {
		p.forget(ctx, file)
		return err
	}
	begin := time.Now()
	err = p.awaitReady(ctx, name, cfg.Lifecycle == runtime.OneShot)
	if p.o.Report != nil {
		p.o.Report(runtime.Step{Session: name, Name: runtime.StepReady, Took: time.Since(begin), Err: err})
	}
	if err == nil {
		err = p.greet(ctx, name, cfg)
	}
	if err == nil {
		return nil
	}
	p.forget(ctx, file)
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if derr := p.Stop(clean, name); derr != nil {
		return errors.Join(err, fmt.Errorf("clean up: %w", derr))
	}
	return err
}

// launch is what the host needs to know.
func (p *Provider) launch(name string, cfg runtime.Config) control.Launch {
	a := cfg.ACP
	l := control.Launch{
		Version: p.o.Version, Session: name, Command: a.Command, WorkDir: cfg.WorkDir, Dir: SessionDir(p.o.Dir, name),
		Auth: a.Auth, Mode: a.Mode, Model: a.Model, Permission: a.Permission, Allow: a.Allow, Deny: a.Deny,
		ResumeID: cfg.ResumeID, Prompt: cfg.FirstMessage(cfg.Prompt),
		FS: a.FS, Terminal: a.Terminal, Record: a.Record,
		HandshakeTimeout: a.HandshakeTimeout, AskTimeout: a.AskTimeout,
	}
	for _, s := range cfg.MCPServers {
		l.MCPServers = append(l.MCPServers, control.MCPServer{
			Name: s.Name, Type: s.Type, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers,
		})
	}
	if cfg.Lifecycle == runtime.OneShot {
		l.EndAfter = 1
		if cfg.Prompt != "" && cfg.Nudge != "" {
			l.EndAfter = 2
		}
	}
	return l
}

// hosted is the config with which the base runs the host: the agent's hints about its
// screen do not apply.
func (p *Provider) hosted(cfg runtime.Config, file string) runtime.Config {
	words := []string{"exec", p.program()}
	for _, arg := range host.Args(file) {
		words = append(words, shell.Quote(arg))
	}
	off := false
	cfg.Command, cfg.Control, cfg.ReportsStatus = strings.Join(words, " "), true, true
	cfg.PromptSuffix, cfg.PromptFlag, cfg.Prompt, cfg.Nudge = "", "", "", ""
	cfg.ReadyPromptPrefix, cfg.ReadyDelay, cfg.ProcessNames = "", 0, nil
	cfg.EmitsPermissionWarning, cfg.AcceptStartupDialogs, cfg.Dialogs, cfg.StatusRules, cfg.LimitRules = false, &off, nil, nil, nil
	cfg.Composer, cfg.InterruptKeys = runtime.Composer{}, nil
	cfg.ACP, cfg.MCPServers, cfg.ResumeID, cfg.StartupEnvelope = nil, nil, "", ""
	return cfg
}

// awaitReady waits for the end of the handshake. An agent with a bounded task may have
// ended already: that is no failure of the start.
func (p *Provider) awaitReady(ctx context.Context, name string, bounded bool) error {
	st, err := p.until(ctx, name, func(s control.State) bool { return s.Phase != control.PhaseStarting })
	ended := errors.Is(err, runtime.ErrSessionNotFound) || err == nil && st.Phase == control.PhaseEnded
	switch {
	case ended && bounded:
		return nil
	case ended:
		return p.death(ctx, name)
	case err != nil:
		return fmt.Errorf("start %s: %w", name, err)
	case st.Phase == control.PhaseReady:
		return nil
	case st.Failure == nil:
		return p.death(ctx, name)
	}
	f := st.Failure
	screen := strings.Join(f.Stderr, "\n")
	switch f.Kind {
	case control.FailAuth:
		return &runtime.StartupBlocked{Session: name, Kind: runtime.BlockedAuth, Question: f.Message, Screen: screen}
	case control.FailDeath:
		return &runtime.StartupDeath{Session: name, Code: f.Exit, Screen: screen}
	}
	return &refused{session: name, text: f.Message, screen: screen}
}

// refused is the error of an agent that does not become ready although it runs. It
// matches ErrSessionDiedDuringStartup: a retry without a change will fail, too.
type refused struct{ session, text, screen string }

func (r *refused) Error() string {
	return fmt.Sprintf("%v: %s", runtime.ErrSessionDiedDuringStartup, r.text)
}

func (r *refused) Is(target error) bool { return target == runtime.ErrSessionDiedDuringStartup }

// As converts it to the error that has a screen.
func (r *refused) As(target any) bool {
	d, ok := target.(**runtime.StartupDeath)
	if ok {
		*d = &runtime.StartupDeath{Session: r.session, Code: 1, Screen: strings.TrimLeft(r.text+"\n"+r.screen, "\n")}
	}
	return ok
}

// death is the error of a host that ended while it started.
func (p *Provider) death(ctx context.Context, name string) error {
	d := &runtime.StartupDeath{Session: name, Code: -1}
	if e, err := p.LastExit(ctx, name); err == nil && e != nil {
		d.Code, d.Signal = e.Code, e.Signal
	}
	d.Screen, _ = p.Peek(ctx, name, 0) // empty if it is gone
	return d
}

// greet sends the configured first nudge. One that is not accepted is a warning, as in
// the start sequence of a terminal.
func (p *Provider) greet(ctx context.Context, name string, cfg runtime.Config) error {
	if cfg.Nudge == "" {
		return nil
	}
	text := cfg.Nudge
	if cfg.Prompt == "" {
		text = cfg.FirstMessage(text)
	}
	begin := time.Now()
	n := control.Nudge{ID: rand.Text(), Blocks: []control.Block{{Text: text}}, Queue: true}
	var r control.Receipt
	err := p.query(ctx, name, func(c *control.Client) (err error) { // the host knows the id
		r, err = c.Nudge(ctx, n)
		return err
	})
	if err == nil && r.State != control.StateSubmitted && r.State != control.StateQueued {
		err = fmt.Errorf("nudge: %s: %s", r.State, r.Detail)
	}
	if p.o.Report != nil {
		p.o.Report(runtime.Step{Session: name, Name: runtime.StepNudge, Took: time.Since(begin), Err: err, Warning: err != nil})
	}
	return ctx.Err()
}

// until watches the host until ok. ErrSessionNotFound if the session ends first.
func (p *Provider) until(ctx context.Context, name string, ok func(control.State) bool) (control.State, error) {
	for {
		st, err := p.watch(ctx, name, ok)
		if !errors.Is(err, control.ErrLost) {
			return st, err
		}
		// The server was killed, or the host has ended: the base knows.
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return st, ctx.Err()
		}
	}
}

// watch is until on one connection.
func (p *Provider) watch(ctx context.Context, name string, ok func(control.State) bool) (last control.State, err error) {
	c, err := p.client(ctx, name)
	if err != nil {
		return last, err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	met := false
	err = c.Watch(inner, func(s control.State) {
		if !met {
			last = s
		}
		if !met && ok(s) {
			met = true
			cancel()
		}
	})
	c.Close() // no state comes after it
	if met {
		err = nil
	}
	return last, err
}

package subprocess

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Start implements runtime.Provider.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	s := &starter{p: p, name: name, cfg: cfg}
	return p.starts.Start(name, func() error {
		_, err := p.live(name)
		return err
	}, func() (bool, error) {
		err := driver.RunStart(ctx, name, cfg, s.hooks())
		return s.made.Process.PID != 0, err
	})
}

// starter is one start.
type starter struct {
	p    *Provider
	name string
	cfg  runtime.Config
	made state // Process.PID is 0 before it exists
}

func (s *starter) hooks() driver.Hooks {
	return driver.Hooks{
		Create: s.create, Destroy: s.destroy, Ended: s.ended, Alive: s.alive, Screen: s.screen,
		Report: s.p.o.Report, Limits: s.p.o.Limits,
	}
}

func (s *starter) create(ctx context.Context) error {
	o, err := s.order()
	if err != nil {
		return err
	}
	release, err := s.p.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.p.clear(ctx, s.name); err != nil {
		return err
	}
	for _, dir := range []string{o.Dir, filepath.Join(o.Dir, metaDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	err = spawn(context.WithoutCancel(ctx), o) // not cut short: no unknown session may stay
	if err == nil {
		s.made, err = readState(o.Dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	return nil
}

// order returns what the parent must do.
func (s *starter) order() (order, error) {
	dir := s.cfg.WorkDir
	if dir == "" {
		dir = "/"
	}
	if info, err := os.Stat(dir); err != nil {
		return order{}, fmt.Errorf("work dir: %w", err)
	} else if !info.IsDir() {
		return order{}, fmt.Errorf("work dir %s: not a directory", dir)
	}
	line, err := driver.CommandLine(s.name, s.cfg)
	if err != nil {
		return order{}, err
	}
	env := runtime.Environment(s.p.o.Environ, s.cfg.BaseEnv, s.cfg.Env)
	id := s.cfg.Env[proctree.SessionVar]
	if id == "" {
		id = "subprocess-" + rand.Text()
		env = append(env, proctree.SessionVar+"="+id)
	}
	shell := "/bin/sh"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "SHELL="); ok && v != "" {
			shell = v
		}
	}
	argv := []string{"/bin/sh", "-c", line}
	if line == "" {
		argv = []string{shell}
	}
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }) {
		env = append(env, "TERM=dumb")
	}
	return order{
		Dir: s.p.folder(s.name), Name: s.name, ID: id, Argv: argv, Env: env, WorkDir: dir, Limit: s.cfg.ScrollbackBytes,
	}, nil
}

// clear removes what an ended session of the name left; ErrSessionExists if one runs.
func (p *Provider) clear(ctx context.Context, name string) error {
	old, err := p.read(name)
	if err == nil {
		var running bool
		if running, err = old.Process.alive(); running && err == nil {
			err = runtime.ErrSessionExists
		}
		if err == nil {
			err = old.awaitParent(ctx)
		}
	}
	if err != nil && !gone(err) {
		return err
	}
	return os.RemoveAll(p.folder(name)) // including the rest of a start that a crash cut short
}

// spawnLimit is how long a parent may take to start its child.
const spawnLimit = 30 * time.Second

// spawn starts a parent and returns once its child runs.
func spawn(ctx context.Context, o order) error {
	ctx, cancel := context.WithTimeout(ctx, spawnLimit)
	defer cancel()
	program, err := self.Image()
	if err != nil {
		return err
	}
	in, err := json.Marshal(o)
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Args = []string{parentName, parentMark}
	cmd.Env = []string{} // nothing of a session that this gc may run in
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(string(in))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() {
		var r reply
		err := json.NewDecoder(out).Decode(&r)
		if err != nil {
			err = fmt.Errorf("the session's parent did not answer: %w", err)
		} else if r.Error != "" {
			err = errors.New(r.Error)
		}
		answered <- err
	}()
	select {
	case err = <-answered:
	case <-ctx.Done():
		_ = cmd.Process.Kill() // the child does not exist yet, or is found by its marker
		err = errors.Join(ctx.Err(), <-answered)
	}
	go func() { _ = cmd.Wait() }() // it lives as long as the session; its status means nothing
	return err
}

func (s *starter) destroy(ctx context.Context) error { return s.p.end(ctx, s.made) }

func (s *starter) ended(ctx context.Context) (*runtime.Exit, error) { return s.made.exit(ctx) }

func (s *starter) alive(_ context.Context, names []string) (bool, error) { return s.made.runs(names) }

// screen returns the end of the output, in place of a screen.
func (s *starter) screen(context.Context) (string, error) {
	text, err := s.made.shown()
	return runtime.LastLines(text, screenLines), err
}

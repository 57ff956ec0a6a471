package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// Start implements runtime.Provider.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	p.mu.Lock()
	taken := p.starting[name]
	p.starting[name] = true
	p.mu.Unlock()
	if taken {
		return fmt.Errorf("start %s: %w", name, runtime.ErrSessionExists)
	}
	defer func() {
		p.mu.Lock()
		delete(p.starting, name)
		p.mu.Unlock()
	}()
	_, err := p.live(ctx, name)
	if err == nil {
		err = runtime.ErrSessionExists
	}
	if !gone(err) {
		return fmt.Errorf("start %s: %w", name, err)
	}
	s := &starter{p: p, name: name, cfg: cfg}
	err = runtime.RunStart(ctx, name, cfg, s.hooks())
	if err != nil && s.target == "" && !errors.Is(err, runtime.ErrSessionExists) {
		if _, live := p.live(ctx, name); live == nil {
			err = fmt.Errorf("%w: %w", runtime.ErrSessionExists, err)
		}
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return nil
}

// starter is one start, or one session that the hooks reach.
type starter struct {
	p      *Provider
	name   string
	cfg    runtime.Config
	target string // of the incarnation; "" before it exists
	dead   bool   // its end was seen
}

func (s *starter) hooks() runtime.Hooks {
	return runtime.Hooks{
		Create: s.create, Destroy: s.destroy, Ended: s.ended, Alive: s.alive,
		Screen: s.screen, Keys: s.keys, Nudge: s.nudge,
		Report: s.p.o.Report, Limits: s.p.o.Limits,
	}
}

// defaultHistory is the scrollback when config names none.
const defaultHistory = 100_000

func (s *starter) create(ctx context.Context) (err error) {
	dir := s.cfg.WorkDir
	if dir == "" {
		dir = "/"
	}
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("work dir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("work dir %s is no folder", dir)
	}
	release, err := s.p.noticing(ctx)
	if err != nil {
		return convert(err)
	}
	defer func() { release() }()
	id := mark(s.cfg)
	file, err := s.p.launchFile(s.name, s.cfg, id)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file)
		}
	}()
	// Not cut short by ctx: a session that nobody knows of must not stay.
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), createLimit)
	defer cancel()
	for try := 0; ; try++ {
		err = s.place(ctx, detached, dir, file)
		if !errors.Is(err, errNoServer) || try == tries {
			break
		}
		// The server went away before it was asked for anything.
	}
	if err != nil {
		return err
	}
	release()
	release = func() {}
	return s.describe(detached, id, dir)
}

// place makes the session on a server that is there, in the place of one of its
// name that has ended.
func (s *starter) place(ctx, detached context.Context, dir, file string) error {
	if err := s.p.ensure(ctx); err != nil {
		return convert(err)
	}
	if old, err := s.p.get(ctx, target(s.name)); err == nil && old.dead {
		if _, err := s.p.query(ctx, "kill-session", "-t", old.id); err != nil && !gone(err) {
			return err
		}
	}
	return s.newSession(detached, dir, file)
}

// newSession makes the session, in which the launch file is run.
func (s *starter) newSession(ctx context.Context, dir, file string) error {
	history := s.cfg.ScrollbackLines
	if history <= 0 {
		history = defaultHistory
	}
	cols, rows := s.cfg.Cols, s.cfg.Rows
	if cols <= 0 {
		cols = 120
	}
	if rows <= 0 {
		rows = 40
	}
	// The limit is read when a pane is made.
	if _, err := s.p.query(ctx, "set-option", "-g", "history-limit", strconv.Itoa(history)); err != nil {
		return err
	}
	words := []string{
		"new-session", "-d", "-P", "-F", "#{session_id}", "-s", encodeName(s.name),
		"-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "-c", dir, "--",
	}
	lines, err := s.p.once(ctx, append(words, launchArgs(file)...)...)
	if err != nil {
		return err
	}
	if len(lines) != 1 {
		return fmt.Errorf("tmux answered %q to new-session", lines)
	}
	s.target = lines[0]
	return nil
}

// createLimit is how long tmux may take to make a session.
const createLimit = 30 * time.Second

// describe sets what belongs to one session.
func (s *starter) describe(ctx context.Context, id, dir string) error {
	mouse := "off"
	if s.cfg.MouseOn {
		mouse = "on"
	}
	var list [][]string
	for _, o := range [][2]string{
		{"@gc_mark", id}, {"@gc_workdir", encodeText(dir)}, {"@gc_ready", encodeText(s.cfg.ReadyPromptPrefix)}, {"mouse", mouse},
		{"@gc_city", s.cfg.Env["GC_CITY"]}, {"@gc_agent", s.cfg.Env["GC_AGENT"]},
	} {
		list = append(list, []string{"set-option", "-t", s.target, o[0], o[1]})
	}
	if err := s.p.all(ctx, list); err != nil {
		return errors.Join(err, s.destroy(context.WithoutCancel(ctx)))
	}
	return nil
}

func (s *starter) destroy(ctx context.Context) error {
	v, err := s.p.get(ctx, s.target)
	if err == nil {
		err = s.p.end(ctx, v)
	}
	if gone(err) {
		return nil
	}
	return err
}

// end ends a session's tree and then the session.
func (p *Provider) end(ctx context.Context, v pane) error {
	// The leader's own session counts only while the leader was not replaced.
	tree := proctree.Tree{ID: v.mark}
	if !v.dead && v.pid > 0 {
		tree.Root, tree.SID = v.pid, v.pid
		if proc, err := proctree.Get(v.pid); err == nil {
			tree.RootStart = proc.Start
		}
	}
	if tree.Root > 0 || tree.ID != "" {
		if err := proctree.Kill(ctx, tree.Members, p.o.StopGrace); err != nil {
			return err
		}
	}
	if _, err := p.noticed(ctx, "kill-session", "-t", v.id); err != nil && !gone(err) {
		return err
	}
	return nil
}

func (s *starter) ended(ctx context.Context) (*runtime.Exit, error) {
	v, err := s.p.get(ctx, s.target)
	if gone(err) {
		return &runtime.Exit{Code: -1, Reason: "unknown", Time: time.Now()}, nil
	}
	if err != nil || !v.dead {
		return nil, err
	}
	s.dead = true
	return v.exit(), nil
}

func (s *starter) alive(ctx context.Context, names []string) (bool, error) {
	v, err := s.p.get(ctx, s.target)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return v.alive(names)
}

func (s *starter) screen(ctx context.Context) (string, error) {
	above := fromScreen
	if s.dead { // tmux scrolled it by a line, for a note that we leave empty
		above = "-1"
	}
	text, err := s.p.capture(ctx, s.target, above)
	if gone(err) {
		return "", nil
	}
	return runtime.LastLines(text, 0), err
}

func (s *starter) keys(ctx context.Context, keys ...string) error {
	return s.p.sendKeys(ctx, s.name, s.target, keys)
}

func (s *starter) nudge(ctx context.Context, text string) (runtime.Receipt, error) {
	return s.p.typeText(ctx, s.name, s.target, text, dialogPatience)
}

// Relaunch implements runtime.RelaunchProvider: tmux puts another program into
// the pane. Metadata, size and scrollback stay.
func (p *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	v, err := p.get(ctx, target(name))
	if err != nil {
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	if cfg.WorkDir == "" {
		cfg.WorkDir = v.workDir
	}
	file, err := p.launchFile(name, cfg, v.mark)
	if err != nil {
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	words := []string{"respawn-pane", "-k", "-c", cfg.WorkDir, "-t", v.id + ":", "--"}
	if _, err := p.noticed(ctx, append(words, launchArgs(file)...)...); err != nil {
		os.Remove(file)
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	return nil
}

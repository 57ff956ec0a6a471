package tmux

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Start implements runtime.Provider.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	s := &starter{p: p, name: name, cfg: cfg}
	return p.starts.Start(name, func() error {
		_, err := p.live(ctx, name)
		return err
	}, func() (bool, error) {
		err := driver.RunStart(ctx, name, cfg, s.hooks())
		return s.made, err
	})
}

// starter is one start, or one session that the hooks act on.
type starter struct {
	p      *Provider
	name   string
	cfg    runtime.Config
	target string // of the incarnation
	marker string // GC_SESSION_ID of its processes
	made   bool   // the session existed
	dead   bool   // the session's end was seen
}

func (s *starter) hooks() driver.Hooks {
	return driver.Hooks{
		Create: s.create, Destroy: s.destroy, Ended: s.ended, Alive: s.alive,
		Screen: s.screen, Keys: s.keys, Nudge: s.nudge,
		Report: s.p.o.Report, Limits: s.p.o.Limits,
	}
}

// defaultHistory is the scrollback if config has none.
const defaultHistory = 100_000

func (s *starter) create(ctx context.Context) error {
	dir := s.cfg.WorkDir
	if dir == "" {
		dir = "/"
	}
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("work dir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("work dir %s: not a directory", dir)
	}
	if err := s.p.writeSettings(); err != nil {
		return err
	}
	// Not cut short by ctx: no unknown session may stay.
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), createLimit)
	defer cancel()
	token := rand.Text()
	s.target, s.marker = incarnation(s.name, token), marker(s.cfg)
	err := s.begin(ctx, detached, dir, token)
	if err == nil {
		err = driver.KeepComposer(detached, s.p, s.name, s.cfg.Composer)
	}
	if err == nil {
		err = driver.KeepScreenRules(detached, s.p, s.name, s.cfg)
	}
	if err != nil && !gone(err) {
		if v, gerr := s.p.get(detached, s.target); gerr == nil {
			err = errors.Join(err, s.p.end(detached, v))
		}
		s.p.forget(token)
		return err
	}
	s.made = true
	if len(s.p.watched()) > 0 {
		if v, err := s.p.get(detached, s.target); err == nil {
			s.p.seen(v)
		}
	}
	return nil
}

// begin creates the session, starting the server if necessary.
func (s *starter) begin(ctx, detached context.Context, dir, token string) error {
	release, err := s.p.noticing(ctx)
	if err != nil {
		return convert(err)
	}
	defer release()
	for range tries {
		if err = s.place(detached, dir, token); !errors.Is(err, errLost) {
			break
		}
		// The server exited; find out what became of the session.
		if _, gerr := s.p.get(detached, s.target); !gone(gerr) {
			return gerr
		}
		if ran := !s.p.forget(token); ran {
			if err := s.endOrphans(detached); err != nil {
				return err
			}
		}
	}
	return convert(err)
}

// tries is how many servers may exit while a session is created.
const tries = 10

// endOrphans ends what a session left behind when its server was killed. While
// another session has its name, that one's processes may have the same marker.
func (s *starter) endOrphans(ctx context.Context) error {
	if _, err := s.p.live(ctx, s.name); !gone(err) {
		return err
	}
	return proctree.Kill(ctx, proctree.Tree{ID: s.marker}.Members, s.p.o.StopGrace)
}

// place creates the session, which runs the launch file, with everything that belongs
// to it, and replaces an ended one of its name. It is one list of commands, which
// tmux runs without interruption.
func (s *starter) place(ctx context.Context, dir, token string) error {
	file, err := s.p.launchFile(s.name, s.cfg, s.marker, token)
	if err != nil {
		return err
	}
	history, cols, rows, mouse := s.cfg.ScrollbackLines, s.cfg.Cols, s.cfg.Rows, "off"
	if history <= 0 {
		history = defaultHistory
	}
	if cols <= 0 {
		cols = 120
	}
	if rows <= 0 {
		rows = 40
	}
	if s.cfg.MouseOn {
		mouse = "on"
	}
	to := target(s.name)
	list := [][]string{
		ifSession(encodeName(s.name), "#{pane_dead}", "kill-session"),
		{"set-option", "-g", "history-limit", strconv.Itoa(history)}, // read when a pane is created
		append([]string{
			"new-session", "-d", "-s", encodeName(s.name), "-n", token,
			"-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "-c", dir, "--",
		}, launchArgs(file)...),
	}
	for _, o := range [][2]string{
		{"@gc_mark", s.marker}, {"@gc_workdir", encodeText(dir)}, {"@gc_ready", encodeText(s.cfg.ReadyPromptPrefix)}, {"mouse", mouse},
		{"@gc_city", cmp.Or(s.cfg.Env["GC_CITY_NAME"], s.cfg.Env["GC_CITY"])}, {"@gc_agent", s.cfg.Env["GC_AGENT"]},
	} {
		list = append(list, []string{"set-option", "-t", to, o[0], o[1]})
	}
	var words []string
	for _, l := range list {
		words = append(append(words, arguments(l)...), separator)
	}
	_, err = oneShot{s.p}.commands(ctx, words[:len(words)-1])
	return err
}

// createLimit is how long tmux may take to create a session.
const createLimit = 30 * time.Second

func (s *starter) destroy(ctx context.Context) error {
	v, err := s.p.get(ctx, s.target)
	if err == nil {
		err = s.p.end(ctx, v)
	}
	if gone(err) {
		return s.endOrphans(ctx)
	}
	return err
}

// end ends a session's process tree and then the session.
func (p *Provider) end(ctx context.Context, v pane) error {
	// The leader's own session counts only while the leader was not replaced.
	tree := proctree.Tree{ID: v.marker}
	if !v.dead && v.pid > 0 {
		tree.Root, tree.SID = v.pid, v.pid
		if proc, err := proctree.Get(v.pid); err == nil {
			tree.RootStart = proc.Start
		}
	}
	if tree.Root > 0 || tree.ID != "" {
		if err := proctree.Kill(ctx, tree.Members, runtime.Grace(ctx, p.o.StopGrace)); err != nil {
			return err
		}
	}
	p.forget(v.token)
	release, err := p.noticing(ctx)
	if err != nil {
		return convert(err)
	}
	defer release()
	if _, err := p.query(ctx, "kill-session", "-t", v.target); err != nil && !gone(err) {
		return err
	}
	return nil
}

func (s *starter) ended(ctx context.Context) (*runtime.Exit, error) {
	v, err := s.p.get(ctx, s.target)
	if gone(err) {
		return &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown, Time: time.Now()}, nil
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
	text, changed := s.cfg.Composer.Plain(text)
	r, err := s.p.typeText(ctx, s.name, s.target, text, dialogPatience)
	r.Changed = changed
	return r, err
}

// Relaunch implements runtime.RelaunchProvider: tmux replaces the pane's program.
// Metadata, size and scrollback stay.
func (p *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	v, err := p.get(ctx, target(name))
	if err != nil {
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	if cfg.WorkDir == "" {
		cfg.WorkDir = v.workDir
	}
	file, err := p.launchFile(name, cfg, v.marker, v.token)
	if err != nil {
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	release, err := p.noticing(ctx)
	if err != nil {
		os.Remove(file)
		return fmt.Errorf("relaunch %s: %w", name, convert(err))
	}
	defer release()
	words := []string{"respawn-pane", "-k", "-c", cfg.WorkDir, "-t", v.target, "--"}
	if _, err := p.once(ctx, v.target, append(words, launchArgs(file)...)...); err != nil {
		os.Remove(file)
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	return nil
}

package native

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/environ"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Machine is another machine with a multiplexer; a *far.Client is one. While it cannot be
// reached, every method returns an error that matches api.ErrUnreachable.
type Machine interface {
	String() string

	// Mux connects to the multiplexer's socket, and starts a server if there is none and
	// start is set. Errors may come from Read: api.ErrNoServer without a server.
	Mux(ctx context.Context, start bool) (net.Conn, error)

	// Environ returns what a session there inherits, the variables of environ.Finds, and
	// those in also.
	Environ(ctx context.Context, also []string) ([]string, error)
	// Run is spawn.Run there; a Line also gets the environment of the machine.
	Run(ctx context.Context, c spawn.Command) (code int, err error)
	// Stage stages files of this machine into a directory there.
	Stage(ctx context.Context, dir string, p staging.Plan) error
	// Dir checks a directory there, makes it first if asked to, and returns its path.
	Dir(ctx context.Context, path string, make bool) (string, error)

	// The process table: proctree.ProgramEnviron, Roots and End.
	Program(ctx context.Context, pid int, id string) (map[string]string, error)
	Roots(ctx context.Context, id string) ([]proctree.Root, error)
	End(ctx context.Context, pid int, start uint64, id string, grace time.Duration) error

	// Boot identifies the machine's current boot; "" if unknown.
	Boot(ctx context.Context) (string, error)
	// Skew returns how far the machine's clock is ahead of this one's.
	Skew(ctx context.Context) (time.Duration, error)
}

// Variables that depend on the machine of a session.
const (
	envBin    = "GC_BIN"    // the gc of that machine
	envOutbox = "GC_OUTBOX" // the city's id in that machine's outbox
)

// abroad returns a config for another machine than the city's: without the path of this
// gc, and with the id under which the city takes messages from an outbox.
func abroad(cfg runtime.Config) runtime.Config {
	cfg.Env = maps.Clone(cfg.Env)
	delete(cfg.Env, envBin)
	if dir := cfg.Env["GC_CITY_PATH"]; dir != "" {
		cfg.Env[envOutbox] = dir // as OutboxID of internal/controller/api
		if id := cfg.Env["GC_CITY_ID"]; id != "" {
			cfg.Env[envOutbox] += "@" + id
		}
	}
	return cfg
}

// reach returns a client of the machine's server. Only its first connection starts one.
func (p *Provider) reach(ctx context.Context, start bool) (*client.Client, error) {
	var first atomic.Bool
	first.Store(start)
	c := client.NewShared(func(ctx context.Context) (net.Conn, error) {
		return p.o.Machine.Mux(ctx, first.Swap(false))
	})
	var err error
	for range tries { // the first one may have found a server that was ending
		if _, err = c.Status(ctx); err == nil {
			return c, nil
		}
		if !errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrFrozen) || ctx.Err() != nil {
			break
		}
		first.Store(start)
	}
	c.Close()
	return nil, startedNot(err)
}

// startedNot returns what the machine said about a server that did not start. To the
// client, that is a server that does not answer.
func startedNot(err error) error {
	var said interface {
		error
		Hint() string
	}
	if errors.As(err, &said) && (errors.Is(said, api.ErrStart) || errors.Is(said, api.ErrStateDir)) {
		return said
	}
	return err
}

// Boot implements runtime.Booter.
func (p *Provider) Boot(ctx context.Context, name string) (string, error) {
	if p.o.Machine == nil {
		return clock.Boot(), nil
	}
	id, err := p.o.Machine.Boot(ctx)
	return id, away(err)
}

// named returns an error of the machine's multiplexer with the machine's name.
func (p *Provider) named(err error) error {
	if m := p.o.Machine; m != nil && !strings.HasPrefix(err.Error(), m.String()+": ") {
		return fmt.Errorf("%s: %w", m, err)
	}
	return err
}

// away is convert for what is not asked of the multiplexer: the end of ctx may be the
// command's own limit.
func away(err error) error {
	if errors.Is(err, api.ErrUnreachable) {
		return convert(err)
	}
	return err
}

func (p *Provider) runThere(ctx context.Context, c spawn.Command) (int, error) {
	code, err := p.o.Machine.Run(ctx, c)
	return code, away(err)
}

func (p *Provider) rootsThere(ctx context.Context, id string) ([]proctree.Root, error) {
	roots, err := p.o.Machine.Roots(ctx, id)
	return roots, away(err)
}

func (p *Provider) endThere(ctx context.Context, pid int, start uint64, id string, grace time.Duration) error {
	return away(p.o.Machine.End(ctx, pid, start, id, grace))
}

// programEnv returns the environment of a session's program.
func (p *Provider) programEnv(ctx context.Context, info api.SessionInfo) (map[string]string, error) {
	if p.o.Machine == nil {
		return driver.ProgramEnv(ctx, info.PID, "")
	}
	env, err := p.o.Machine.Program(ctx, info.PID, "")
	return env, away(err)
}

// commandLine is driver.CommandLine on the session's machine.
func (p *Provider) commandLine(ctx context.Context, name string, cfg runtime.Config) (string, error) {
	if p.o.Machine == nil {
		return driver.CommandLine(name, cfg)
	}
	return driver.CommandLineWith(name, cfg, func(file, text string) error {
		return p.stage(ctx, cfg.WorkDir, staging.Plan{Copies: []staging.Copy{{Src: file, RelDst: file, Data: []byte(text)}}})
	})
}

// stage stages into a directory of the machine.
func (p *Provider) stage(ctx context.Context, dir string, plan staging.Plan) error {
	return driver.StagingError(away(p.o.Machine.Stage(ctx, dir, plan)))
}

// copyThere is driver.CopyLocal on the machine.
func (p *Provider) copyThere(ctx context.Context, workDir, src, relDst string) error {
	return p.stage(ctx, workDir, staging.Plan{Copies: []staging.Copy{{Src: src, RelDst: relDst, Optional: true}}})
}

// shellThere runs a setup command on the machine.
func (s *starter) shellThere(ctx context.Context, line string) error {
	return driver.ShellLine(ctx, s.p.runThere, spawn.Command{Line: line, Dir: s.cfg.WorkDir, Env: driver.SetupEnviron(s.name, s.cfg)})
}

func (s *starter) stageThere(ctx context.Context) error {
	if s.cfg.WorkDir == "" {
		return driver.StageLocal(ctx, s.cfg) // refuses it
	}
	return s.p.stage(ctx, s.cfg.WorkDir, driver.StagePlan(s.cfg))
}

// makeWorkDir makes the work dir on a machine, if the provider is to do that.
func (s *starter) makeWorkDir(ctx context.Context) error {
	if s.p.o.Machine == nil || !s.p.o.MakeWorkDir || s.cfg.WorkDir == "" {
		return nil
	}
	_, err := s.p.o.Machine.Dir(ctx, s.cfg.WorkDir, true)
	return away(err)
}

// inheritThere returns what the session inherits on the machine: by itself, to find gc and
// the multiplexer, and of the variables that the config inherits here. Values of this machine
// mean nothing there.
func (s *starter) inheritThere(ctx context.Context) (all []string, base map[string]string, err error) {
	also := slices.Sorted(maps.Keys(s.cfg.BaseEnv))
	all, err = s.p.o.Machine.Environ(ctx, also)
	if err != nil {
		return nil, nil, err
	}
	base = map[string]string{}
	for _, kv := range all {
		if k, v, ok := strings.Cut(kv, "="); ok && (environ.Finds(k) || slices.Contains(also, k)) {
			base[k] = v
		}
	}
	return all, base, nil
}

// skew is the difference of the machine's clock, measured now and then.
type skew struct {
	mu        sync.Mutex
	at        time.Time // of the last attempt; zero: none
	ahead     time.Duration
	measuring chan struct{} // closed at the end of a measurement; nil: none is under way
}

// skewAge is how long a measured difference is used.
const skewAge = 10 * time.Minute

// here returns a time of the session's machine on this machine's clock. While the
// difference is unknown, it is the machine's own.
func (p *Provider) here(ctx context.Context, t time.Time) time.Time {
	if p.o.Machine == nil || t.IsZero() {
		return t
	}
	return t.Add(-p.skew.get(ctx, p.o.Machine))
}

// skewLimit bounds a measurement: a machine that does not answer is not waited for.
const skewLimit = 5 * time.Second

// get returns the difference, after measuring it if it is too old. Others wait for the
// first measurement, and use the last one during a later one.
func (s *skew) get(ctx context.Context, m Machine) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && time.Since(s.at) < skewAge {
		return s.ahead
	}
	if running := s.measuring; running != nil {
		if s.at.IsZero() {
			s.mu.Unlock()
			select {
			case <-running:
			case <-ctx.Done():
			}
			s.mu.Lock()
		}
		return s.ahead
	}
	done := make(chan struct{})
	s.measuring = done
	s.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, skewLimit)
	ahead, err := m.Skew(limited)
	cancel()
	s.mu.Lock()
	s.measuring = nil
	close(done)
	switch {
	case err == nil:
		s.at, s.ahead = time.Now(), ahead
	case !errors.Is(err, api.ErrUnreachable) && ctx.Err() == nil:
		s.at = time.Now() // it cannot tell
	}
	return s.ahead
}

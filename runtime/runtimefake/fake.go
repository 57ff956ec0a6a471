// Package runtimefake is a runtime.Provider in memory, for the tests of everything
// above the contract. It records calls, fails and hangs on demand, and simulates
// crashes, zombies and attached people.
//
// It runs no program and touches nothing outside its own memory. Tests use it, and
// gc itself with GC_SESSION=fake.
package runtimefake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/runtime"
)

// Fake is a Provider in memory. A session's screen shows what was nudged into it, or
// what [Fake.SetPeek] put there. Safe for concurrent use.
type Fake struct {
	mu       sync.Mutex
	sessions map[string]*session // running or exited, newest of a name
	calls    []Call
	fail     map[target]*failure
	hang     map[target]bool
	screens  map[string]string // first screens, by session name
	receipts map[string]runtime.Receipt
	// conversations that agents begin, by session name
	conversations map[string]string
	caps          runtime.Capabilities
	subs          map[*subscriber]struct{}
	changed       chan struct{} // closed and replaced at every change
	seq           int
}

// Call is one recorded call.
type Call struct {
	Grace   time.Duration  // Stop: as WithGrace set it, else -1
	Method  string         // "Start", "Nudge" …
	Session string         // name or prefix
	Config  runtime.Config // Start, RunLive, Relaunch
	Text    string         // Nudge: the flattened text; metadata: the value; CopyTo: the source
	Key     string         // metadata: the key; CopyTo: relDst
	Keys    []string
	Names   []string // ProcessAlive
	Lines   int      // Peek
}

type target struct{ method, session string }

type failure struct {
	err  error
	left int // < 0: forever
}

type session struct {
	id       string
	cfg      runtime.Config
	screen   string
	meta     map[string]string
	zombie   bool
	starting bool
	attached int
	activity time.Time
	exit     *runtime.Exit
	turn     runtime.Turn // the last that has ended
}

type subscriber struct{ ch chan runtime.Event }

// backlog is how many events a subscriber may lag behind.
const backlog = 1024

var (
	_ runtime.Provider         = (*Fake)(nil)
	_ runtime.EventSource      = (*Fake)(nil)
	_ runtime.ExitReporter     = (*Fake)(nil)
	_ runtime.Waiter           = (*Fake)(nil)
	_ runtime.RelaunchProvider = (*Fake)(nil)
)

// New returns an empty fake.
func New() *Fake {
	return &Fake{
		sessions: map[string]*session{},
		fail:     map[target]*failure{},
		hang:     map[target]bool{},
		screens:  map[string]string{},
		receipts: map[string]runtime.Receipt{},

		conversations: map[string]string{},

		subs:    map[*subscriber]struct{}{},
		changed: make(chan struct{}),
		caps: runtime.Capabilities{
			Attach: true, AttachDetection: true, Activity: true, Keys: true,
			LastScreen: true, LastWords: true, Relaunch: true, Simulated: true,
		},
	}
}

// enter records the call and applies the failures and hangs set for it.
func (f *Fake) enter(ctx context.Context, c Call) error {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.notifyLocked()
	for f.hang[target{c.Method, c.Session}] || f.hang[target{c.Method, ""}] {
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w: %w", strings.ToLower(c.Method), c.Session, runtime.ErrBackendUnreachable, ctx.Err())
		case <-changed:
		}
		f.mu.Lock()
	}
	defer f.mu.Unlock()
	for _, k := range []target{{c.Method, c.Session}, {c.Method, ""}} {
		if fl := f.fail[k]; fl != nil && fl.left != 0 {
			fl.left--
			return fl.err
		}
	}
	return ctx.Err()
}

// notifyLocked wakes all waiters for a change.
func (f *Fake) notifyLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fake) emitLocked(e runtime.Event) {
	for s := range f.subs {
		select {
		case s.ch <- e:
		default:
			delete(f.subs, s)
			close(s.ch)
		}
	}
	f.notifyLocked()
}

// liveLocked returns the running session of the name, or nil.
func (f *Fake) liveLocked(name string) *session {
	if s := f.sessions[name]; s != nil && s.exit == nil && !s.starting {
		return s
	}
	return nil
}

// Start implements [runtime.Provider].
func (f *Fake) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := f.enter(ctx, Call{Method: "Start", Session: name, Config: cfg}); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.sessions[name]; old != nil && old.exit == nil {
		return fmt.Errorf("start %s: %w", name, runtime.ErrSessionExists)
	}
	f.createLocked(name, cfg)
	if cfg.Nudge != "" {
		f.typeLocked(f.sessions[name], cfg.Nudge)
	}
	return nil
}

func (f *Fake) createLocked(name string, cfg runtime.Config) {
	cfg.Env = maps.Clone(cfg.Env)
	f.seq++
	screen, ok := f.screens[name]
	if !ok {
		screen = cfg.ReadyPromptPrefix
	}
	f.sessions[name] = &session{
		id: fmt.Sprintf("fake-%d", f.seq), cfg: cfg, screen: screen,
		meta: map[string]string{}, activity: time.Now(),
	}
	f.emitLocked(runtime.Event{Kind: runtime.EventStarted, Session: name, Time: time.Now()})
}

// Stop implements [runtime.Provider].
func (f *Fake) Stop(ctx context.Context, name string) error {
	if err := f.enter(ctx, Call{Method: "Stop", Session: name, Grace: runtime.Grace(ctx, -1)}); err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil && s.exit == nil {
		e := runtime.Exit{Code: 143, Signal: "SIGTERM", Reason: runtime.ReasonStopped, Time: time.Now()}
		delete(f.sessions, name)
		f.emitLocked(runtime.Event{Kind: runtime.EventExited, Session: name, Time: e.Time, Exit: &e})
		return nil
	}
	delete(f.sessions, name)
	f.notifyLocked()
	return nil
}

// Interrupt implements [runtime.Provider]. It only records.
func (f *Fake) Interrupt(ctx context.Context, name string) error {
	return f.enter(ctx, Call{Method: "Interrupt", Session: name})
}

// IsRunning implements [runtime.Provider].
func (f *Fake) IsRunning(ctx context.Context, name string) (bool, error) {
	if err := f.enter(ctx, Call{Method: "IsRunning", Session: name}); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.liveLocked(name) != nil, nil
}

// ProcessAlive implements [runtime.Provider]: whatever runs is alive, except after
// [Fake.SetZombie].
func (f *Fake) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	if err := f.enter(ctx, Call{Method: "ProcessAlive", Session: name, Names: slices.Clone(names)}); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.liveLocked(name)
	if len(names) == 0 {
		return true, nil
	}
	return s != nil && !s.zombie, nil
}

// ListRunning implements [runtime.Provider].
func (f *Fake) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	if err := f.enter(ctx, Call{Method: "ListRunning", Session: prefix}); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.sessions {
		if strings.HasPrefix(name, prefix) && f.liveLocked(name) != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// GetLastActivity implements [runtime.Provider].
func (f *Fake) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	if err := f.enter(ctx, Call{Method: "GetLastActivity", Session: name}); err != nil {
		return time.Time{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil {
		return s.activity, nil
	}
	return time.Time{}, nil
}

// RunLive implements [runtime.Provider]. It only records.
func (f *Fake) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	return f.enter(ctx, Call{Method: "RunLive", Session: name, Config: cfg})
}

// Relaunch implements [runtime.RelaunchProvider].
func (f *Fake) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	if err := f.enter(ctx, Call{Method: "Relaunch", Session: name, Config: cfg}); err != nil {
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.liveLocked(name)
	if s == nil {
		return fmt.Errorf("relaunch %s: %w", name, runtime.ErrSessionNotFound)
	}
	s.cfg, s.zombie, s.activity = cfg, false, time.Now()
	f.notifyLocked()
	return nil
}

// Capabilities implements [runtime.Provider].
func (f *Fake) Capabilities() runtime.Capabilities {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.caps
}

// Events implements [runtime.EventSource].
func (f *Fake) Events(ctx context.Context) (<-chan runtime.Event, error) {
	if err := f.enter(ctx, Call{Method: "Events"}); err != nil {
		return nil, err
	}
	s := &subscriber{ch: make(chan runtime.Event, backlog)}
	f.mu.Lock()
	f.subs[s] = struct{}{}
	f.mu.Unlock()
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, ok := f.subs[s]; ok {
			delete(f.subs, s)
			close(s.ch)
		}
	})
	return s.ch, nil
}

// LastExit implements [runtime.ExitReporter].
func (f *Fake) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	if err := f.enter(ctx, Call{Method: "LastExit", Session: name}); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	if s == nil {
		return nil, fmt.Errorf("exit of %s: %w", name, runtime.ErrSessionNotFound)
	}
	if s.exit == nil {
		return nil, nil
	}
	e := *s.exit
	return &e, nil
}

package wrap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/wrap"
)

// tiny is as little as a provider can be: a process group for each session, its
// output in memory, no terminal. It shows what a new provider needs besides its own
// package: nothing.
type tiny struct {
	starts driver.Starts

	mu       sync.Mutex
	sessions map[string]*tinySession
	hung     chan struct{} // calls wait until it is closed, if not nil
	pressed  []string
	gate     chan struct{} // NudgeNow waits for it, if not nil
}

type tinySession struct {
	cmd    *exec.Cmd
	dir    string
	mu     sync.Mutex
	out    bytes.Buffer
	meta   map[string]string
	active time.Time
	exit   *runtime.Exit
	done   chan struct{}
}

var _ runtime.Provider = (*tiny)(nil)

func newTiny() *tiny { return &tiny{sessions: map[string]*tinySession{}} }

func (s *tinySession) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = time.Now()
	return s.out.Write(b)
}

// get returns the session of the name, nil without one; a running one only if live.
func (p *tiny) get(name string, live bool) *tinySession {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[name]
	if s == nil || live && s.over() != nil {
		return nil
	}
	return s
}

func (s *tinySession) over() *runtime.Exit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exit
}

// answers waits while the backend hangs.
func (p *tiny) answers(ctx context.Context) error {
	p.mu.Lock()
	hung := p.hung
	p.mu.Unlock()
	if hung == nil {
		return nil
	}
	select {
	case <-hung:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *tiny) hang() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hung := make(chan struct{})
	p.hung = hung
	return func() { close(hung) }
}

func (p *tiny) look(name string) error {
	if p.get(name, true) == nil {
		return runtime.ErrSessionNotFound
	}
	return nil
}

func (p *tiny) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return p.starts.Start(name, func() error { return p.look(name) }, func() (made bool, err error) {
		err = driver.RunStart(ctx, name, cfg, driver.Hooks{
			Create:  func(context.Context) error { err := p.create(name, cfg); made = err == nil; return err },
			Destroy: func(ctx context.Context) error { return p.Stop(ctx, name) },
			Ended:   func(context.Context) (*runtime.Exit, error) { return p.get(name, false).over(), nil },
			Screen:  func(ctx context.Context) (string, error) { return p.Peek(ctx, name, 0) },
		})
		return made, err
	})
}

func (p *tiny) create(name string, cfg runtime.Config) error {
	line, err := driver.CommandLine(name, cfg)
	if err != nil {
		return err
	}
	if cfg.WorkDir == "" {
		cfg.WorkDir = os.Getenv("HOME")
	}
	s := &tinySession{dir: cfg.WorkDir, meta: map[string]string{}, active: time.Now(), done: make(chan struct{})}
	s.cmd = exec.Command("/bin/sh", "-c", line)
	s.cmd.Dir, s.cmd.Env = cfg.WorkDir, runtime.Environment(os.Environ(), cfg.BaseEnv, cfg.Env)
	s.cmd.Stdout, s.cmd.Stderr = s, s
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(s.done)
		_ = s.cmd.Wait() // the state says how it ended
		s.mu.Lock()
		defer s.mu.Unlock()
		ws := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
		s.exit = &runtime.Exit{Code: ws.ExitStatus(), Time: time.Now()}
		if ws.Signaled() {
			s.exit.Code = 128 + int(ws.Signal())
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions[name] = s
	return nil
}

func (p *tiny) signal(name string, sig syscall.Signal) {
	if s := p.get(name, true); s != nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, sig) // it may have ended at this moment
	}
}

func (p *tiny) Stop(ctx context.Context, name string) error {
	if err := p.answers(ctx); err != nil {
		return err
	}
	s := p.get(name, false)
	if s == nil {
		return nil
	}
	p.signal(name, syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(runtime.Grace(ctx, 500*time.Millisecond)):
		p.signal(name, syscall.SIGKILL)
		<-s.done
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[name] == s {
		delete(p.sessions, name)
	}
	return nil
}

func (p *tiny) Interrupt(_ context.Context, name string) error {
	p.signal(name, syscall.SIGINT)
	return nil
}

func (p *tiny) IsRunning(ctx context.Context, name string) (bool, error) {
	return p.get(name, true) != nil, p.answers(ctx)
}

func (p *tiny) IsAttached(context.Context, string) (bool, error) { return false, nil }

func (p *tiny) Attach(_ context.Context, name string, _ runtime.Terminal) error {
	if err := p.look(name); err != nil {
		return err
	}
	return runtime.ErrUnsupported
}

func (p *tiny) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	return len(names) == 0 || p.get(name, true) != nil, p.answers(ctx)
}

func (p *tiny) Nudge(_ context.Context, name string, _ []runtime.ContentBlock) (runtime.Receipt, error) {
	return runtime.Receipt{State: runtime.Refused, Detail: "no terminal"}, p.look(name)
}

func (p *tiny) SendKeys(_ context.Context, name string, keys ...string) error {
	if p.get(name, true) == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pressed = append(p.pressed, keys...)
	return nil
}

func (p *tiny) Peek(ctx context.Context, name string, lines int) (string, error) {
	if err := p.answers(ctx); err != nil {
		return "", err
	}
	s := p.get(name, false)
	if s == nil {
		return "", runtime.ErrSessionNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return runtime.LastLines(s.out.String(), lines), nil
}

func (p *tiny) ClearScrollback(context.Context, string) error { return nil }

func (p *tiny) SetMeta(_ context.Context, name, key, value string) error {
	s := p.get(name, false)
	if s == nil {
		return runtime.ErrSessionNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta[key] = value
	return nil
}

func (p *tiny) GetMeta(ctx context.Context, name, key string) (string, error) {
	if err := p.answers(ctx); err != nil {
		return "", err
	}
	s := p.get(name, false)
	if s == nil {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta[key], nil
}

func (p *tiny) RemoveMeta(_ context.Context, name, key string) error {
	if s := p.get(name, false); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.meta, key)
	}
	return nil
}

func (p *tiny) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	if err := p.answers(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name, s := range p.sessions {
		if strings.HasPrefix(name, prefix) && s.over() == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (p *tiny) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	if err := p.answers(ctx); err != nil {
		return time.Time{}, err
	}
	s := p.get(name, false)
	if s == nil {
		return time.Time{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active, nil
}

func (p *tiny) CopyTo(ctx context.Context, name, src, relDst string) error {
	s := p.get(name, true)
	if s == nil {
		return nil
	}
	return driver.CopyLocal(ctx, s.dir, src, relDst)
}

func (p *tiny) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	if p.get(name, true) != nil {
		driver.RunLive(ctx, name, cfg, nil, nil)
	}
	return nil
}

func (p *tiny) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{Activity: true, LastScreen: true, LastWords: true}
}

// CursorLine is an optional interface of tiny: the last line.
func (p *tiny) CursorLine(ctx context.Context, name string) (string, error) {
	return p.Peek(ctx, name, 1)
}

// NudgeNow is another; it only notes the text.
func (p *tiny) NudgeNow(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	if p.gate != nil {
		<-p.gate
	}
	return runtime.Receipt{State: runtime.Unverified}, p.SendKeys(ctx, name, runtime.FlattenText(content))
}

// wrapped is tiny as gc uses a provider: decorated, and a backend of a router.
func wrapped(t *testing.T, p *tiny, d wrap.Deadlines) runtime.Provider {
	t.Helper()
	r, err := router.Auto(func(string) (runtime.Provider, error) { return wrap.Decorate(p, d), nil }, "tiny")
	if err != nil {
		t.Fatal(err)
	}
	return wrap.Decorate(r, d)
}

// A new provider is one type that keeps the contract: it passes the suite alone,
// decorated and routed.
func TestTinyProviderConforms(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		p := newTiny()
		w := wrapped(t, p, wrap.Deadlines{})
		return runtimetest.Harness{
			Provider: w,
			Reopen:   func(*testing.T) runtime.Provider { return w },
			Hang:     func(*testing.T) func() { return p.hang() },
		}
	})
}

// An optional interface is found through decorators and router, with its deadline.
func TestOptionalInterfaceHasADeadline(t *testing.T) {
	p := newTiny()
	w := wrapped(t, p, wrap.Deadlines{Query: time.Second})
	if err := w.Start(t.Context(), "a", runtime.Config{Command: "echo one; echo two; exec sleep 60"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Stop(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}()
	for _, find := range []func() (runtime.CursorLineProvider, bool){
		func() (runtime.CursorLineProvider, bool) { return runtime.As[runtime.CursorLineProvider](w) },
		func() (runtime.CursorLineProvider, bool) {
			x, ok, err := runtime.AsFor[runtime.CursorLineProvider](t.Context(), w, "a")
			if err != nil {
				t.Error(err)
			}
			return x, ok
		},
	} {
		x, ok := find()
		if !ok {
			t.Fatal("not found")
		}
		if _, err := x.CursorLine(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		resume := p.hang()
		_, err := x.CursorLine(t.Context(), "a")
		if !errors.Is(err, runtime.ErrBackendUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that hangs: %v", err)
		}
		resume()
	}
	if _, ok := runtime.As[runtime.RelaunchProvider](w); ok {
		t.Error("relaunch, which tiny does not have")
	}
}

// Input through an optional interface keeps the order of the calls.
func TestOptionalInterfaceKeepsInputOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTiny()
		p.sessions["a"] = &tinySession{}
		w := wrapped(t, p, wrap.Deadlines{})
		now, ok := runtime.As[runtime.ImmediateNudgeProvider](w)
		if !ok {
			t.Fatal("not found")
		}
		p.gate = make(chan struct{})
		var tasks sync.WaitGroup
		var want []string
		for i := range 6 {
			text := fmt.Sprint(i)
			want = append(want, text)
			tasks.Go(func() {
				var err error
				if i%2 == 0 {
					_, err = now.NudgeNow(t.Context(), "a", runtime.TextContent(text))
				} else {
					err = w.SendKeys(t.Context(), "a", text)
				}
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(p.gate)
		tasks.Wait()
		if !slices.Equal(p.pressed, want) {
			t.Errorf("%q", p.pressed)
		}
	})
}

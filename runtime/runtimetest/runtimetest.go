// Package runtimetest is the conformance suite of runtime.Provider: small named
// cases that assert effects, with real programs if the provider runs any.
//
// Its invariant: a case is skipped only for a capability that the provider lacks,
// never by the provider's name. What is not tested here is not part of the
// contract. Only tests use it:
//
//	func TestConformance(t *testing.T) {
//		runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
//			b := newBackend(t)
//			return runtimetest.Harness{
//				Provider: b.provider(),
//				Reopen:   func(t *testing.T) runtime.Provider { return b.provider() },
//				Hang:     b.stop,
//			}
//		})
//	}
//
// It needs sh, bash, cat, stty and coreutils.
package runtimetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime"
)

// Harness is one backend, empty and private to the test.
type Harness struct {
	Provider runtime.Provider
	// Reopen returns another provider over the same backend, like that of a second
	// gc process. It may return Provider.
	Reopen func(t *testing.T) runtime.Provider
	// Hang makes the backend stop answering; resume undoes it.
	Hang func(t *testing.T) (resume func())
}

// Run runs every case against the provider that open returns. It calls open once
// for all cases that share a backend, and once for each of the others; open
// registers its own clean-up.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Run("shared", func(t *testing.T) {
		h := open(t)
		if c := h.Provider.Capabilities(); c.Prompts {
			t.Logf("messages reach a program; these cases are about a terminal, and are skipped:\n%s", strings.Join(notForPrompts(c), "\n"))
		}
		for _, c := range cases() {
			if !c.own {
				c.run(t, h)
			}
		}
	})
	for _, c := range cases() {
		if c.own {
			t.Run(c.name, func(t *testing.T) { c.body(t, open(t)) })
		}
	}
}

// testCase is one rule of the contract.
type testCase struct {
	name  string
	needs []need
	own   bool // needs a backend of its own
	test  func(*T)
}

// need is a capability that a case requires.
type need struct {
	name string
	has  func(runtime.Capabilities) bool
}

var (
	programs   = need{"programs that really run", func(c runtime.Capabilities) bool { return !c.Simulated }}
	simulated  = need{"a simulation", func(c runtime.Capabilities) bool { return c.Simulated }}
	keys       = need{"Keys", func(c runtime.Capabilities) bool { return c.Keys }}
	attach     = need{"Attach", func(c runtime.Capabilities) bool { return c.Attach }}
	attached   = need{"AttachDetection", func(c runtime.Capabilities) bool { return c.AttachDetection }}
	activity   = need{"Activity", func(c runtime.Capabilities) bool { return c.Activity }}
	exactPeek  = need{"ExactPeek", func(c runtime.Capabilities) bool { return c.ExactPeek }}
	keyModes   = need{"KeyModes", func(c runtime.Capabilities) bool { return c.KeyModes }}
	durable    = need{"DurableMeta", func(c runtime.Capabilities) bool { return c.DurableMeta }}
	lastShown  = need{"LastScreen", func(c runtime.Capabilities) bool { return c.LastScreen }}
	lastWords  = need{"LastWords", func(c runtime.Capabilities) bool { return c.LastWords }}
	tree       = need{"ProcessTree", func(c runtime.Capabilities) bool { return c.ProcessTree }}
	relaunches = need{"Relaunch", func(c runtime.Capabilities) bool { return c.Relaunch }}
	execs      = need{"Exec", func(c runtime.Capabilities) bool { return c.Exec }}
	prompts    = need{"Prompts", func(c runtime.Capabilities) bool { return c.Prompts }}
	messages   = need{"Keys and no Prompts", func(c runtime.Capabilities) bool { return c.Keys || c.Prompts }}
	terminal   = need{"terminal for its programs", func(c runtime.Capabilities) bool { return !c.Prompts }}
)

func cases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{
		lifeCases, nameCases, endCases, processCases, inputCases, keyCases, outputCases, metaCases,
		activityCases, fileCases, startCases, dialogCases, attachCases, pushCases, extensionCases, questionCases, lossCases, promptCases,
	} {
		all = append(all, group...)
	}
	return all
}

func (c testCase) run(t *testing.T, h Harness) {
	t.Run(c.name, func(t *testing.T) {
		t.Parallel()
		c.body(t, h)
	})
}

func (c testCase) body(t *testing.T, h Harness) {
	for _, n := range c.needs {
		if !n.has(h.Provider.Capabilities()) {
			t.Skipf("the provider has no %s", n.name)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), caseLimit)
	defer cancel()
	p := h.Provider
	if c := p.Capabilities(); !c.Keys && !c.Prompts {
		p = inputless{p, pipe(t)}
	}
	c.test(&T{T: t, Harness: h, P: p, Ctx: ctx})
}

// inputless is a provider whose sessions have no standard input: there cat reads a
// pipe without a writer instead, so that it waits.
type inputless struct {
	runtime.Provider
	pipe string
}

func (i inputless) Unwrap() runtime.Provider { return i.Provider }

func (i inputless) Start(ctx context.Context, name string, cfg runtime.Config) error {
	cfg.Command = strings.ReplaceAll(cfg.Command, "exec cat", "exec cat "+i.pipe)
	return i.Provider.Start(ctx, name, cfg)
}

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// extension returns an optional interface of the provider, or skips the case.
func extension[X any](t *T) X {
	t.Helper()
	x, ok := runtime.As[X](t.P)
	if !ok {
		t.Skipf("the provider has no %T", (*X)(nil))
	}
	return x
}

// extensionOf is extension for one session.
func extensionOf[X any](t *T, name string) X {
	t.Helper()
	x, ok, err := runtime.AsFor[X](t.Ctx, t.P, name)
	t.must(err)
	if !ok {
		t.Skipf("the session's provider has no %T", (*X)(nil))
	}
	return x
}

const (
	// caseLimit bounds a case.
	caseLimit = 60 * time.Second
	// effectLimit bounds the wait for an effect on a busy machine.
	effectLimit = 20 * time.Second
	// look is the polling interval for effects.
	look = 5 * time.Millisecond
)

// T is one running case.
type T struct {
	*testing.T
	Harness
	P   runtime.Provider
	Ctx context.Context
}

var counter atomic.Int64

// name returns a session name that no other case uses, stopped at the end. No name
// begins another: all are of one length.
func (t *T) name() string {
	name := fmt.Sprintf("t%d-%06d", os.Getpid(), counter.Add(1))
	t.stopLater(name)
	return name
}

func (t *T) stopLater(name string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), effectLimit)
		defer cancel()
		if err := t.P.Stop(ctx, name); err != nil {
			t.Errorf("stop %s: %v", name, err)
		}
	})
}

// start starts a session of a new name.
func (t *T) start(cfg runtime.Config) string {
	t.Helper()
	name := t.name()
	t.startAs(name, cfg)
	return name
}

func (t *T) startAs(name string, cfg runtime.Config) {
	t.Helper()
	if cfg.WorkDir == "" {
		cfg.WorkDir = t.TempDir()
	}
	if err := t.P.Start(t.Ctx, name, cfg); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
}

// sh starts a session of a shell command line.
func (t *T) sh(command string) string {
	t.Helper()
	return t.start(runtime.Config{Command: command})
}

// idle starts a session that does nothing.
func (t *T) idle() string { t.Helper(); return t.sh("exec cat") }

// must fails the case on an error.
func (t *T) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually calls f until it returns nil, or fails with f's last error.
func (t *T) eventually(what string, f func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Ctx, effectLimit)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// peek returns all of a session's screen and scrollback.
func (t *T) peek(name string) string {
	t.Helper()
	text, err := t.P.Peek(t.Ctx, name, 0)
	if err != nil {
		t.Fatalf("peek %s: %v", name, err)
	}
	return text
}

// shows waits until the session shows the text.
func (t *T) shows(name, text string) {
	t.Helper()
	t.eventually("waiting for the screen", func() error {
		got, err := t.P.Peek(t.Ctx, name, 0)
		if err != nil {
			return err
		}
		if !strings.Contains(got, text) {
			return fmt.Errorf("no %q in %q", text, tail(got))
		}
		return nil
	})
}

func tail(s string) string {
	if len(s) > 600 {
		return "…" + s[len(s)-600:]
	}
	return s
}

// running checks IsRunning.
func (t *T) running(name string, want bool) {
	t.Helper()
	got, err := t.P.IsRunning(t.Ctx, name)
	if err != nil || got != want {
		t.Fatalf("IsRunning(%s) = %v, %v; want %v", name, got, err, want)
	}
}

// ends waits until the session no longer runs.
func (t *T) ends(name string) {
	t.Helper()
	t.eventually("waiting for the end of "+name, func() error {
		running, err := t.P.IsRunning(t.Ctx, name)
		if err == nil && running {
			err = fmt.Errorf("still running")
		}
		return err
	})
}

// file waits until a file has a complete line and returns its text.
func (t *T) file(path string) string {
	t.Helper()
	var data []byte
	t.eventually("waiting for "+path, func() (err error) {
		data, err = os.ReadFile(path)
		if err == nil && (len(data) == 0 || data[len(data)-1] != '\n') {
			err = fmt.Errorf("%q is not complete", data)
		}
		return err
	})
	return strings.TrimSuffix(string(data), "\n")
}

// script writes an executable file and returns its path.
func (t *T) script(name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := testenv.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return path
}

// nudge delivers text, which must be submitted.
func (t *T) nudge(name, text string) {
	t.Helper()
	r, err := t.P.Nudge(t.Ctx, name, runtime.TextContent(text))
	if err != nil {
		t.Fatalf("nudge %s: %v", name, err)
	}
	if r.State != runtime.Submitted && r.State != runtime.Unverified {
		t.Fatalf("nudge %s: %+v", name, r)
	}
}

package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/far"
	muxapi "gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/runtimetest"
)

// cable is a link to a far.Server of this process: one byte stream, made again after a
// loss.
type cable struct {
	server *far.Server

	mu      sync.Mutex
	session *many.Session
	away    error // nothing is reached meanwhile
	missed  int   // attempts meanwhile
	dialed  []string
	serving sync.WaitGroup
}

// Dial implements far.Dialer.
func (c *cable) Dial(ctx context.Context, kind string, args any) (net.Conn, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := s.Dial(ctx, kind, args)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialed = append(c.dialed, kind)
	return conn, err
}

// awaitKind waits until there was a connection of a kind, and forgets it.
func (c *cable) awaitKind(t *testing.T, kind string) {
	t.Helper()
	for {
		c.mu.Lock()
		was := slices.Contains(c.dialed, kind)
		c.dialed = slices.DeleteFunc(c.dialed, func(k string) bool { return k == kind })
		c.mu.Unlock()
		if was {
			return
		}
		if err := clock.Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *cable) open(ctx context.Context) (*many.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away != nil {
		c.missed++
		return nil, c.away
	}
	if c.session != nil && c.session.Err() == nil {
		return c.session, nil
	}
	near, there := net.Pipe()
	c.serving.Go(func() { _ = many.Serve(context.Background(), there, c.server.Hello(), c.server.Handle) })
	var err error
	c.session, err = many.Open(ctx, near, many.Hello{}, many.Options{})
	return c.session, err
}

// cut ends the stream. With an error, none is made until the next cut.
func (c *cable) cut(away error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.missed = away, 0
	if c.session != nil {
		c.session.Close()
	}
}

func (c *cable) misses() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.missed
}

// farBackend is a mux on a machine of its own, as far as a provider can tell.
type farBackend struct {
	*backend
	cable *cable
	home  string
}

func newFarBackend(t testing.TB) *farBackend {
	t.Helper()
	b := &farBackend{backend: newBackend(t), home: t.TempDir()}
	environ := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	b.cable = &cable{server: &far.Server{Paths: b.paths, Version: "test", Environ: append(environ, "HOME="+b.home, "FAR=yes")}}
	t.Cleanup(func() {
		b.cable.cut(errors.New("the test has ended"))
		b.cable.serving.Wait()
	})
	return b
}

func (b *farBackend) provider(t testing.TB) *native.Provider { return b.over(t, native.Options{}) }

func (b *farBackend) over(t testing.TB, o native.Options) *native.Provider {
	t.Helper()
	if o.Machine == nil {
		o.Machine = far.NewClient("ssh://there", b.cable)
	}
	o.Version, o.StopGrace = "test", 500*time.Millisecond
	p, err := native.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestConformanceFar: sessions on another machine keep every rule.
func TestConformanceFar(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		b := newFarBackend(t)
		// What a session inherits comes from there: the case about it knows these values.
		b.cable.server.Environ = append(os.Environ(), "LOWER=base", "PLAIN=zero")
		return runtimetest.Harness{
			Provider: b.provider(t),
			Reopen:   func(t *testing.T) runtime.Provider { return b.provider(t) },
			Hang:     b.hang,
		}
	})
}

// TestFarSessionsBelongToTheirMachine: environment, gc and outbox are those of that
// machine; commands and long prompts are run and written there.
func TestFarSessionsBelongToTheirMachine(t *testing.T) {
	b := newFarBackend(t)
	near := t.TempDir()
	t.Setenv("HOME", near)
	t.Setenv("TMPDIR", near)
	t.Setenv("ALSO", "near")
	b.cable.server.Environ = append(b.cable.server.Environ, "ALSO=far", "GC_MUX_SOCKET="+b.paths.Socket)
	p := b.over(t, native.Options{MakeWorkDir: true})
	work := filepath.Join(b.home, "made", "work")
	prompt := strings.Repeat("x", 200<<10)
	cfg := runtime.Config{
		WorkDir: work,
		Command: "env > new; mv new vars; exec sleep 1000; :", PromptSuffix: "'" + prompt + "'", PromptFlag: "</dev/null #",
		BaseEnv:  map[string]string{"ALSO": "near", "ONLY_NEAR": "x"},
		Env:      map[string]string{"GC_BIN": "/near/gc", "GC_CITY_PATH": "/near/city", "GC_CITY_ID": "7"},
		PreStart: []string{"echo $FAR $HOME $PWD $GC_BIN $GC_OUTBOX > new; mv new pre"},
	}
	if err := p.Start(t.Context(), "s", cfg); err != nil {
		t.Fatal(err)
	}
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	outbox := api.OutboxID("/near/city", "7")
	if got, want := await(t, filepath.Join(work, "pre")), fmt.Sprintf("yes %s %s %s %s\n", b.home, work, bin, outbox); got != want {
		t.Errorf("pre-start: %q, want %q", got, want)
	}
	vars := "\n" + await(t, filepath.Join(work, "vars"))
	for _, want := range []string{"HOME=" + b.home, "ALSO=far", "GC_BIN=" + bin, "GC_OUTBOX=" + outbox, "GC_CITY_PATH=/near/city", "GC_MUX_SOCKET=" + b.paths.Socket} {
		if !strings.Contains(vars, "\n"+want+"\n") {
			t.Errorf("no %s in %s", want, vars)
		}
	}
	if strings.Contains(vars, "="+near) || strings.Contains(vars, "ONLY_NEAR") {
		t.Errorf("variables of this machine: %s", vars)
	}
	file := filepath.Join(work, ".gc/prompt-s.md")
	if got, err := os.ReadFile(file); err != nil || string(got) != prompt {
		t.Errorf("prompt of %d bytes, %v", len(got), err)
	}
	out, code, err := p.Exec(t.Context(), "s", []string{"sh", "-c", "pwd; echo $GC_BIN; exit 3"})
	if want := work + "\n" + bin + "\n"; err != nil || code != 3 || string(out) != want {
		t.Errorf("exec: %d, %v, %q, want %q", code, err, out, want)
	}
}

// await returns what a file has once it exists.
func await(t *testing.T, file string) string {
	t.Helper()
	for t.Context().Err() == nil {
		if data, err := os.ReadFile(file); err == nil {
			return string(data)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s was not written", file)
	return ""
}

// TestAwayMachineIsUnreachable: every call says that nothing is known, none that a session
// is gone, and none takes long; sessions are as before when the machine is back.
func TestAwayMachineIsUnreachable(t *testing.T) {
	b := newFarBackend(t)
	p := b.provider(t)
	cfg := runtime.Config{WorkDir: t.TempDir(), Command: "exec cat"}
	if err := p.Start(t.Context(), "s", cfg); err != nil {
		t.Fatal(err)
	}
	b.cable.cut(errors.New("no route to host"))
	calls := map[string]func(context.Context) error{
		"start":      func(ctx context.Context) error { return p.Start(ctx, "other", cfg) },
		"stop":       func(ctx context.Context) error { return p.Stop(ctx, "s") },
		"interrupt":  func(ctx context.Context) error { return p.Interrupt(ctx, "s") },
		"running":    func(ctx context.Context) error { _, err := p.IsRunning(ctx, "s"); return err },
		"attached":   func(ctx context.Context) error { _, err := p.IsAttached(ctx, "s"); return err },
		"alive":      func(ctx context.Context) error { _, err := p.ProcessAlive(ctx, "s", []string{"cat"}); return err },
		"list":       func(ctx context.Context) error { _, err := p.ListRunning(ctx, ""); return err },
		"activity":   func(ctx context.Context) error { _, err := p.GetLastActivity(ctx, "s"); return err },
		"activities": func(ctx context.Context) error { _, err := p.Activities(ctx, []string{"s"}); return err },
		"nudge":      func(ctx context.Context) error { _, err := p.Nudge(ctx, "s", runtime.TextContent("x")); return err },
		"keys":       func(ctx context.Context) error { return p.SendKeys(ctx, "s", "Enter") },
		"peek":       func(ctx context.Context) error { _, err := p.Peek(ctx, "s", 0); return err },
		"clear":      func(ctx context.Context) error { return p.ClearScrollback(ctx, "s") },
		"wait": func(ctx context.Context) error {
			_, err := p.WaitFor(ctx, "s", []runtime.Condition{{Exit: true}})
			return err
		},
		"events":   func(ctx context.Context) error { _, err := p.Events(ctx); return err },
		"copy":     func(ctx context.Context) error { return p.CopyTo(ctx, "s", cfg.WorkDir, "") },
		"live":     func(ctx context.Context) error { return p.RunLive(ctx, "s", cfg) },
		"exec":     func(ctx context.Context) error { _, _, err := p.Exec(ctx, "s", []string{"true"}); return err },
		"exit":     func(ctx context.Context) error { _, err := p.LastExit(ctx, "s"); return err },
		"set meta": func(ctx context.Context) error { return p.SetMeta(ctx, "s", "k", "v") },
		"meta":     func(ctx context.Context) error { _, err := p.GetMeta(ctx, "s", "k"); return err },
		"relaunch": func(ctx context.Context) error { return p.Relaunch(ctx, "s", cfg) },
		"server":   func(ctx context.Context) error { return p.ConfigureServer(ctx) },
		"teardown": func(ctx context.Context) error { return p.TeardownServer(ctx) },
		"runtimes": func(ctx context.Context) error { _, err := p.FindRuntimesBySessionID(ctx, ""); return err },
		"terminate": func(ctx context.Context) error {
			return p.TerminateRuntime(ctx, runtime.LiveRuntime{PID: 1 << 30, City: "c", SessionID: "x"})
		},
		"attach": func(ctx context.Context) error {
			return p.Attach(ctx, "s", runtime.Terminal{In: strings.NewReader(""), Out: new(bytes.Buffer), Size: func() (int, int, error) { return 80, 24, nil }})
		},
	}
	for name, call := range calls {
		begin := time.Now()
		err := call(t.Context())
		if !errors.Is(err, runtime.ErrBackendUnreachable) || errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	b.cable.cut(nil)
	if running, err := p.IsRunning(t.Context(), "s"); !running || err != nil {
		t.Errorf("after it is back: %v, %v", running, err)
	}
	if running, err := p.IsRunning(t.Context(), "other"); running || err != nil {
		t.Errorf("a start while it was away: %v, %v", running, err)
	}
}

// TestNudgesOverCuts: while the stream is cut again and again, each message is typed once,
// and each has its receipt.
func TestNudgesOverCuts(t *testing.T) {
	b := newFarBackend(t)
	p := b.provider(t)
	work := t.TempDir()
	if err := p.Start(t.Context(), "s", runtime.Config{WorkDir: work, Command: "stty -echo; while read -r line; do echo \"$line\" >> lines; echo \"got $line\"; done"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var cutter sync.WaitGroup
	cutter.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(3+n*7%40) * time.Millisecond):
				b.cable.cut(nil)
			}
		}
	})
	count := 60
	if os.Getenv("GC_SOAK") != "" {
		count = 2000
	}
	var want []string
	for n := range count {
		text := fmt.Sprintf("message-%d", n)
		got, err := p.Nudge(t.Context(), "s", runtime.TextContent(text))
		for errors.Is(err, runtime.ErrBackendUnreachable) && !strings.Contains(err.Error(), "may have been typed") {
			got, err = p.Nudge(t.Context(), "s", runtime.TextContent(text)) // it was not sent
		}
		if err != nil || got.State != runtime.Submitted && got.State != runtime.Unverified {
			t.Fatalf("%s: %+v, %v", text, got, err)
		}
		want = append(want, text)
	}
	close(done)
	cutter.Wait()
	for t.Context().Err() == nil {
		data, err := os.ReadFile(filepath.Join(work, "lines"))
		got := strings.Fields(string(data))
		if err == nil && len(got) >= len(want) {
			if !slices.Equal(got, want) {
				t.Errorf("typed %q", got)
			}
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("not all of them were typed")
}

// TestNudgeOfALongCut: the receipt of a message that was being typed when its machine was
// lost is asked for once it is back, and is the truth.
func TestNudgeOfALongCut(t *testing.T) {
	b := newFarBackend(t)
	p := b.provider(t)
	work := t.TempDir()
	command := `stty -echo; echo up; read -r line; echo "$line" > new; mv new line; until [ -e go ]; do sleep 0.02; done; echo got it; exec cat`
	if err := p.Start(t.Context(), "s", runtime.Config{WorkDir: work, Command: command}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WaitFor(t.Context(), "s", []runtime.Condition{{Text: "up"}}); err != nil {
		t.Fatal(err)
	}
	type result struct {
		runtime.Receipt
		err error
	}
	told := make(chan result, 1)
	go func() {
		r, err := p.Nudge(t.Context(), "s", runtime.TextContent("hello"))
		told <- result{r, err}
	}()
	if line := await(t, filepath.Join(work, "line")); line != "hello\n" {
		t.Errorf("typed %q", line)
	}
	b.cable.cut(syscall.ECONNREFUSED) // the client itself does not wait for such a server
	for b.cable.misses() < 3 {
		select {
		case r := <-told:
			t.Fatalf("told while nothing is known: %+v", r)
		case <-time.After(5 * time.Millisecond):
		}
	}
	b.cable.cut(nil)
	if err := os.WriteFile(filepath.Join(work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := <-told; r.err != nil || r.State != runtime.Submitted && r.State != runtime.Unverified {
		t.Errorf("%+v", r)
	}
	if screen, err := p.Peek(t.Context(), "s", 0); err != nil || strings.Contains(screen, "hello") {
		t.Errorf("typed again: %q, %v", screen, err)
	}
}

// lossy cuts the cable once the session s exists, before the reply to its creation.
type lossy struct {
	*farBackend
	t     *testing.T
	armed *atomic.Bool
}

// Dial implements far.Dialer.
func (l lossy) Dial(ctx context.Context, kind string, args any) (net.Conn, error) {
	conn, err := l.cable.Dial(ctx, kind, args)
	if err != nil || kind != "mux" {
		return conn, err
	}
	return &lossyConn{Conn: conn, l: l}, nil
}

type lossyConn struct {
	net.Conn
	l       lossy
	creates atomic.Bool
}

func (c *lossyConn) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("POST /v1/sessions HTTP")) {
		c.creates.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *lossyConn) Read(p []byte) (int, error) {
	if c.creates.Load() && c.l.armed.CompareAndSwap(true, false) {
		local, err := client.Dial(c.l.t.Context(), c.l.paths)
		if err != nil {
			return 0, err
		}
		defer local.Close()
		for {
			if _, err := local.Get(c.l.t.Context(), "s"); !errors.Is(err, muxapi.ErrNotFound) {
				c.l.cable.cut(nil)
				return 0, io.ErrUnexpectedEOF
			}
		}
	}
	return c.Conn.Read(p)
}

// TestStartOverACut: a session whose creation was not heard of is found again, not started
// twice and not left behind by a failed start.
func TestStartOverACut(t *testing.T) {
	b := newFarBackend(t)
	l := lossy{b, t, new(atomic.Bool)}
	l.armed.Store(true)
	p := b.over(t, native.Options{Machine: far.NewClient("ssh://there", l)})
	work := t.TempDir()
	if err := p.Start(t.Context(), "s", runtime.Config{WorkDir: work, Command: "echo x >> starts; exec cat"}); err != nil {
		t.Fatal(err)
	}
	if l.armed.Load() {
		t.Error("nothing was cut")
	}
	if all, err := p.ListRunning(t.Context(), ""); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if starts := await(t, filepath.Join(work, "starts")); starts != "x\n" {
		t.Errorf("started %q", starts)
	}
}

// slow is a machine whose clock is wrong.
type slow struct {
	*far.Client
	ahead time.Duration
}

func (s slow) Skew(context.Context) (time.Duration, error) { return s.ahead, nil }

// TestTimesOfAnotherClock: times are those of this machine's clock.
func TestTimesOfAnotherClock(t *testing.T) {
	b := newFarBackend(t)
	p := b.over(t, native.Options{Machine: slow{far.NewClient("ssh://there", b.cable), -time.Hour}})
	if err := p.Start(t.Context(), "s", runtime.Config{WorkDir: t.TempDir(), Command: "echo up; exec cat"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WaitFor(t.Context(), "s", []runtime.Condition{{Text: "up"}}); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	check := func(what string, at time.Time, err error) {
		t.Helper()
		if err != nil || at.Sub(later).Abs() > time.Minute {
			t.Errorf("%s at %v, %v, want about %v", what, at, err, later)
		}
	}
	at, err := p.GetLastActivity(t.Context(), "s")
	check("last activity", at, err)
	a, err := p.Activity(t.Context(), "s")
	check("activity", a.Since, err)
	all, err := p.Activities(t.Context(), []string{"s"})
	check("activities", all["s"].Last, err)
	events, err := p.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SendKeys(t.Context(), "s", "C-d"); err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if e.Kind == runtime.EventExited {
			check("event", e.Time, nil)
			break
		}
	}
	exit, err := p.LastExit(t.Context(), "s")
	check("exit", exit.Time, err)
}

var _ native.Machine = (*far.Client)(nil)

// TestOlderMachine: what the other gc does not know is an error of its own, not a machine
// that is away.
func TestOlderMachine(t *testing.T) {
	b := newFarBackend(t)
	p := b.over(t, native.Options{Machine: far.NewClient("ssh://there", older{b.cable})})
	err := p.Start(t.Context(), "s", runtime.Config{WorkDir: t.TempDir(), Command: "exec cat", PreStart: []string{"true"}})
	if !errors.Is(err, muxapi.ErrVersion) || errors.Is(err, runtime.ErrBackendUnreachable) || !strings.Contains(err.Error(), "version test") {
		t.Errorf("%v", err)
	}
}

// older serves nothing but the mux.
type older struct{ *cable }

func (o older) Dial(ctx context.Context, kind string, args any) (net.Conn, error) {
	if kind != "mux" {
		kind += " of tomorrow"
	}
	return o.cable.Dial(ctx, kind, args)
}

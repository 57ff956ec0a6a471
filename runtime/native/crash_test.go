package native_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

func start(t testing.TB, p *native.Provider, name string, cfg runtime.Config) {
	t.Helper()
	if cfg.WorkDir == "" {
		cfg.WorkDir = t.TempDir()
	}
	if err := p.Start(t.Context(), name, cfg); err != nil {
		t.Fatal(err)
	}
}

// A server that is killed at any moment loses no session, and the provider connects
// to the next one.
func TestServerKilled(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	ctx := t.Context()
	start(t, p, "a", runtime.Config{Command: "echo before; exec cat"})
	if err := p.SetMeta(ctx, "a", "k", "v"); err != nil {
		t.Fatal(err)
	}
	if i, err := p.WaitFor(ctx, "a", []runtime.Condition{{Text: "^before$"}}); i != 0 || err != nil {
		t.Fatalf("wait: %d, %v", i, err)
	}
	events, err := p.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pid := b.server(t)
	kill(t, pid, syscall.SIGKILL)
	for range events { // the channel closes when the server is lost
	}
	if ok, err := p.IsRunning(ctx, "a"); !ok || err != nil {
		t.Fatalf("running: %v, %v", ok, err)
	}
	if v, err := p.GetMeta(ctx, "a", "k"); v != "v" || err != nil {
		t.Fatalf("meta %q, %v", v, err)
	}
	if r, err := p.Nudge(ctx, "a", runtime.TextContent("after")); err != nil || r.State != runtime.Submitted {
		t.Fatalf("nudge %+v, %v", r, err)
	}
	if i, err := p.WaitFor(ctx, "a", []runtime.Condition{{Text: "^after$"}}); i != 0 || err != nil {
		t.Fatalf("wait: %d, %v", i, err)
	}
	if text, err := p.Peek(ctx, "a", 0); err != nil || text[:6] != "before" {
		t.Fatalf("peek %q, %v", text, err)
	}
	if again := b.server(t); again == pid {
		t.Fatal("the server did not die")
	}
	if events, err = p.Events(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Kind != runtime.EventExited || e.Session != "a" {
		t.Fatalf("event %+v", e)
	}
}

// A query creates no state and starts nothing.
func TestQueriesStartNothing(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	ctx := t.Context()
	if _, err := p.IsRunning(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Peek(ctx, "a", 0); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Fatal(err)
	}
	if err := p.Stop(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Client(ctx); !errors.Is(err, api.ErrNoServer) {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(b.paths.Socket))
	if err != nil || len(entries) > 0 {
		t.Fatalf("made %v, %v", entries, err)
	}
}

// A state directory that cannot be used fails the start at once.
func TestUnwritableStateDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := native.New(native.Options{Paths: api.Paths{Dir: filepath.Join(file, "d"), Socket: filepath.Join(file, "s")}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	begin := time.Now()
	err = p.Start(t.Context(), "a", runtime.Config{Command: "exec cat", WorkDir: dir})
	if !errors.Is(err, api.ErrStateDir) || time.Since(begin) > 5*time.Second {
		t.Fatalf("start: %v after %v", err, time.Since(begin))
	}
}

// Each step of a start is reported with its duration.
func TestStepsAreReported(t *testing.T) {
	b := newBackend(t)
	steps := make(chan runtime.Step, 16)
	p, err := native.New(native.Options{Paths: b.paths, Report: func(s runtime.Step) { steps <- s }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	start(t, p, "a", runtime.Config{Command: "printf '> '; exec cat", ReadyPromptPrefix: "> ", PreStart: []string{"true"}})
	close(steps)
	var names []runtime.StepName
	for s := range steps {
		if s.Session != "a" || s.Err != nil || s.Took <= 0 {
			t.Errorf("%+v", s)
		}
		names = append(names, s.Name)
	}
	want := []runtime.StepName{runtime.StepPreStart, runtime.StepCreate, runtime.StepReady, runtime.StepDialogs}
	if len(names) != len(want) {
		t.Fatalf("steps %v", names)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Fatalf("steps %v", names)
		}
	}
	if err := p.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
}

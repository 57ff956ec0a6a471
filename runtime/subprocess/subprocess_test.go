package subprocess_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/subprocess"
)

// TestMain lets the test binary also be the parent of a session.
func TestMain(m *testing.M) {
	if subprocess.IsParent(os.Args) {
		testenv.Exit(subprocess.RunParent())
	}
	testenv.SideBySide(4) // they mostly wait for programs
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, dir string) *subprocess.Provider {
	t.Helper()
	p, err := subprocess.New(subprocess.Options{Dir: dir, StopGrace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// away makes the directory unreadable: nothing is known then.
func away(t *testing.T, dir string) (back func()) {
	t.Helper()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConformance(t *testing.T) {
	runtimetest.Run(t, func(t *testing.T) runtimetest.Harness {
		dir := filepath.Join(t.TempDir(), "kept")
		return runtimetest.Harness{
			Provider: open(t, dir),
			Reopen:   func(t *testing.T) runtime.Provider { return open(t, dir) },
			Hang:     func(t *testing.T) func() { return away(t, dir) },
		}
	})
}

func start(t *testing.T, p *subprocess.Provider, name string, cfg runtime.Config) {
	t.Helper()
	if cfg.WorkDir == "" {
		cfg.WorkDir = t.TempDir()
	}
	if err := p.Start(t.Context(), name, cfg); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if err := p.Stop(ctx, name); err != nil {
			t.Error(err)
		}
	})
}

func ended(t *testing.T, p *subprocess.Provider, name string) *runtime.Exit {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		e, err := p.LastExit(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if e != nil {
			return e
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it runs on")
		}
	}
}

func TestInputIsRefused(t *testing.T) {
	p := open(t, t.TempDir())
	start(t, p, "a", runtime.Config{Command: "exec sleep 1000"})
	r, err := p.Nudge(t.Context(), "a", runtime.TextContent("x"))
	if r.State != runtime.Refused || err != nil {
		t.Errorf("nudge: %+v, %v", r, err)
	}
	if err := p.Attach(t.Context(), "a", runtime.Terminal{}); err == nil || !strings.Contains(err.Error(), "no terminal") {
		t.Errorf("attach: %v", err)
	}
	// Standard input is at its end.
	start(t, p, "b", runtime.Config{Command: "cat; echo over"})
	ended(t, p, "b")
	if text, err := p.Peek(t.Context(), "b", 0); text != "over" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// A flood is kept up to the limit, including its end.
func TestOutputIsBounded(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	const bound = 64 << 10
	start(t, p, "a", runtime.Config{Command: "seq 1 200000", ScrollbackBytes: bound})
	if e := ended(t, p, "a"); e.Code != 0 {
		t.Fatalf("%+v", e)
	}
	text, err := p.Peek(t.Context(), "a", 0)
	if err != nil || !strings.HasSuffix(text, "\n199999\n200000") || len(text) < bound || len(text) > 2*bound {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	var size int64
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > 2*bound+8<<10 {
		t.Fatalf("%d bytes on disk, %v", size, err)
	}
}

// What a program left behind does not keep the session running, and the output before
// its end is complete.
func TestLeftChildDelaysNothing(t *testing.T) {
	p := open(t, t.TempDir())
	start(t, p, "a", runtime.Config{Command: "sleep 1000 & echo done; exit 3"})
	if e := ended(t, p, "a"); e.Code != 3 {
		t.Errorf("%+v", e)
	}
	if text, err := p.Peek(t.Context(), "a", 0); text != "done" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestClearBeginsAtTheLastLines(t *testing.T) {
	p := open(t, t.TempDir())
	start(t, p, "a", runtime.Config{Command: "seq 1 100; echo ready; exec sleep 1000", ReadyPromptPrefix: "ready"})
	if err := p.ClearScrollback(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	text, err := p.Peek(t.Context(), "a", 0)
	if lines := strings.Split(text, "\n"); err != nil || len(lines) != 40 || lines[0] != "62" || lines[39] != "ready" {
		t.Fatalf("%q, %v", text, err)
	}
}

// A parent that is killed loses the exit status and nothing else.
func TestParentKilled(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	start(t, p, "a", runtime.Config{Command: "echo up; exec sleep 1000", ReadyPromptPrefix: "up"})
	if err := subprocess.KillParent(p, "a"); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir)
	if ok, err := other.IsRunning(t.Context(), "a"); !ok || err != nil {
		t.Fatalf("running: %v, %v", ok, err)
	}
	if err := other.Interrupt(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if e := ended(t, other, "a"); e.Code != -1 || e.Reason != "unknown" {
		t.Errorf("%+v", e)
	}
	if text, err := other.Peek(t.Context(), "a", 0); text != "up" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// Names that differ only in case are different sessions, and Stop leaves no files.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	for _, name := range []string{"a", "A", strings.Repeat("X", 200)} {
		start(t, p, name, runtime.Config{Command: fmt.Sprintf("echo %s; exec sleep 1000", name), ReadyPromptPrefix: name})
	}
	for _, name := range []string{"a", "A"} {
		if text, err := p.Peek(t.Context(), name, 0); text != name || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	for _, name := range []string{"a", "A", strings.Repeat("X", 200)} {
		if err := p.Stop(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "sessions")); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
}

package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime"
)

// The minimal script hosts a session from start to stop; the operations that it lacks
// are reported and do no harm.
func TestMinimalScript(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "jq", "setsid")
	p := newBackend(t, contrib(t, "gc-session-minimal"), "GC_EXEC_STATE_DIR="+t.TempDir()).provider(t)
	ctx, dir := t.Context(), t.TempDir()
	cfg := runtime.Config{WorkDir: dir, Command: `echo "$WORD"; pwd; echo $$ > up; exec sleep 1000`, Env: map[string]string{"WORD": "it's\ntwo lines"}}
	if err := p.Start(ctx, "a", cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background(), "a"); err != nil {
			t.Error(err)
		}
	})
	if err := p.Start(ctx, "a", cfg); !errors.Is(err, runtime.ErrSessionExists) {
		t.Error(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	pid := 0
	for late := time.After(20 * time.Second); pid == 0; {
		if data, err := os.ReadFile(filepath.Join(dir, "up")); err == nil && strings.HasSuffix(string(data), "\n") {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it does not start")
		}
	}
	if text, err := p.Peek(ctx, "a", 0); err != nil || text != "it's\ntwo lines\n"+dir {
		t.Errorf("%q, %v", text, err)
	}
	if names, err := p.ListRunning(ctx, ""); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("%q, %v", names, err)
	}
	if r, err := p.Nudge(ctx, "a", runtime.TextContent("x")); err != nil || r.State != runtime.Refused || !strings.Contains(r.Detail, "accepts no input") {
		t.Errorf("%+v, %v", r, err)
	}
	if err := p.Stop(ctx, "a"); err != nil {
		t.Error(err)
	}
	if ok, err := p.IsRunning(ctx, "a"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if proc, err := proctree.Get(pid); err == nil && !proc.Zombie() {
		t.Errorf("process %d (%s) lives", pid, proc.Comm)
	}
	if _, err := p.Peek(ctx, "a", 0); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("peek: %v", err)
	}
}

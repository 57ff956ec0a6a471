package tmux_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

// The end of a session of another process, and of a relaunched program, is reported
// at once.
func TestEndsAreReported(t *testing.T) {
	b := newBackend(t)
	p, other := b.provider(t), b.provider(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dir := t.TempDir()
	cfg := runtime.Config{WorkDir: dir, Command: "echo $$ > pid; exec cat"}
	if err := other.Start(ctx, "a", cfg); err != nil {
		t.Fatal(err)
	}
	events, err := p.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	pid := func() int {
		for ; ctx.Err() == nil; <-tick.C {
			if data, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil && strings.HasSuffix(string(data), "\n") {
				n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
				return n
			}
		}
		t.Fatal("no pid")
		return 0
	}
	pid()
	if err := os.Remove(filepath.Join(dir, "pid")); err != nil {
		t.Fatal(err)
	}
	if err := p.Relaunch(ctx, "a", cfg); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := syscall.Kill(pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-events:
		if e.Kind != runtime.EventExited || e.Session != "a" || e.Exit == nil || e.Exit.Signal != "SIGKILL" && e.Exit.Code != -1 {
			t.Fatalf("%+v %+v", e, e.Exit)
		}
	case <-ctx.Done():
		t.Fatal("no event")
	}
	t.Logf("reported after %v", time.Since(begin))
}

//go:build linux && k8s && e2e

package k8s_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s"
	"gascity.dev/gc/runtime/runtimetest"
)

// bare: in an image without a shell, under Pod Security "restricted", a session is started
// by its argv, seen, typed into, attached to, and gets commands and files.
func (c *cluster) bare(t *testing.T) {
	p := provider(t, c.settings(strict, bareImage), "bare", func(o *k8s.Options) { o.MakeWorkDir = true })
	ctx := t.Context()
	start(t, p, "a", runtime.Config{WorkDir: "/workspace/deep/er", Command: "exec cat -u '-'"})
	if r, err := p.Nudge(ctx, "a", runtime.TextContent("it is here")); err != nil || r.State != runtime.Submitted && r.State != runtime.Unverified {
		t.Fatalf("%+v, %v", r, err)
	}
	shows(t, p, "a", "it is here")
	if err := p.SendKeys(ctx, "a", "x", "y", "Enter"); err != nil {
		t.Fatal(err)
	}
	shows(t, p, "a", "xy\nxy")

	src := filepath.Join(t.TempDir(), "note")
	if err := os.WriteFile(src, []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.CopyTo(ctx, "a", src, "sub/note"); err != nil {
		t.Fatal(err)
	}
	out, code, err := p.Exec(ctx, "a", []string{"cat", "sub/note"})
	if string(out) != "a note" || code != 0 || err != nil {
		t.Errorf("exec: %q, %d, %v", out, code, err)
	}
	if out, code, err := p.Exec(ctx, "a", []string{"cat", "/proc/self/status"}); !strings.Contains(string(out), "Uid:\t1000") || code != 0 || err != nil {
		t.Errorf("exec: %q, %d, %v", out, code, err)
	}

	in, keys := io.Pipe()
	screen := &runtimetest.ScreenBuffer{}
	attached, detach := context.WithCancel(ctx)
	defer detach()
	done := make(chan error, 1)
	go func() {
		done <- p.Attach(attached, "a", runtime.Terminal{In: in, Out: screen, Resized: make(chan struct{}), Size: func() (int, int, error) { return 100, 30, nil }})
	}()
	if _, err := io.WriteString(keys, "by hand\r"); err != nil {
		t.Fatal(err)
	}
	shows(t, p, "a", "by hand")
	if _, err := io.WriteString(keys, "\x02d"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(screen.String(), "it is here") {
		t.Errorf("the attached screen: %q", screen.String())
	}
}

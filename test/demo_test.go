//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemo runs make demo and make demo-stop, in a copy of the parts of the
// repository they use, for a person who trusts nothing yet.
func TestDemo(t *testing.T) {
	b := newBox(t)
	root := filepath.Join(b.dir, "root")
	demo := filepath.Join(root, "examples", "demo")
	if err := os.CopyFS(demo, os.DirFS("../examples/demo")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(gcBin, filepath.Join(root, "bin", "gc")); err != nil {
		t.Fatal(err)
	}
	run := func(what string) string {
		ctx, cancel := context.WithTimeout(context.Background(), hangs) // even after the test
		defer cancel()
		cmd := exec.CommandContext(ctx, "bash", filepath.Join(demo, "run.sh"), what)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "LANG=C.UTF-8", "TERM=xterm-256color"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("run.sh %s: %v\n%s", what, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { run("stop") })
	out := run("start")
	for _, want := range []string{
		"\nsubmitted\n", "There are 76 words in 3 messages.", "| demo$ head -n 1 inbox/*", "the assistant is back as process",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not show %q:\n%s", want, out)
		}
	}
	run("stop")
	for _, left := range []string{filepath.Join(root, "bin", "demo"), filepath.Join(demo, ".gc")} {
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%s is left", left)
		}
	}
}

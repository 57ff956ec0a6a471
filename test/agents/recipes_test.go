//go:build agents

package agents

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// modelOfRecipes is the address of the model in the recipes.
const modelOfRecipes = "127.0.0.1:8099"

// TestRecipes follows docs/recipes/AGENT.md: its files, its city.toml and, in one shell in the
// city, its "sh agent" blocks, each of them as written. Afterwards the model has the
// conversation from before the restart, if the page says so.
func TestRecipes(t *testing.T) {
	for _, a := range agents {
		t.Run(a.preset, func(t *testing.T) {
			p, err := readPage(filepath.Join(filepath.Dir(gcBin), "recipes", a.preset+".md"))
			if err != nil {
				t.Fatal(err)
			}
			w, s := newWorld(t), newStubAt(t, modelOfRecipes)
			for path, text := range p.files {
				w.write(path, text)
			}
			w.write("city/city.toml", strings.Join(p.city, "\n"))
			defer func() {
				if t.Failed() {
					w.dumpOf("coder", s)
				}
			}()
			w.follows("set -eux\n" + strings.Join(p.script, "\n"))
			before, _ := s.times("Run this command")
			if kept := before == 1; kept != a.keeps {
				t.Errorf("the conversation was kept: %v, want %v", kept, a.keeps)
			}
		})
	}
}

// follows runs a script in the city, which must succeed.
func (w *world) follows(script string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Env, cmd.Dir = w.env, w.city
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second // the city's processes may have its output
	out, err := cmd.CombinedOutput()
	w.t.Logf("%s", out)
	if err != nil {
		w.t.Fatal(err)
	}
}

package program

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keeper"
)

// TestSpec: a program is found in the PATH of the request or relative to its directory. One
// that cannot be executed becomes a shell that says why.
func TestSpec(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tool, data := write("tool", 0o755), write("data", 0o644)
	env := []string{"PATH=relative:" + dir, "SHELL=" + tool, "TERM=dumb", "A=b"}
	for name, c := range map[string]struct {
		r       api.CreateRequest
		path    string
		argv    []string // its end
		command string
	}{
		"in PATH":          {api.CreateRequest{Argv: []string{"tool", "x"}}, tool, []string{"tool", "x"}, "tool x"},
		"relative":         {api.CreateRequest{Argv: []string{"./tool"}}, tool, []string{"./tool"}, "./tool"},
		"not there":        {api.CreateRequest{Argv: []string{"none"}}, "/bin/sh", []string{"gc", "none", "command not found", "127"}, "none"},
		"not executable":   {api.CreateRequest{Argv: []string{data}}, "/bin/sh", []string{"gc", data, "permission denied", "126"}, data},
		"a directory":      {api.CreateRequest{Argv: []string{dir}}, "/bin/sh", []string{"gc", dir, "is a directory", "126"}, dir},
		"a command":        {api.CreateRequest{Command: "a | b"}, tool, []string{tool, "-c", "a | b"}, "a | b"},
		"nothing: a shell": {api.CreateRequest{}, tool, []string{tool}, tool},
	} {
		c.r.Env, c.r.WorkDir = env, dir
		spec, command, err := Spec(&c.r, Session{ID: "id", Env: []string{"OWN=1"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if end := spec.Argv[max(0, len(spec.Argv)-len(c.argv)):]; spec.Path != c.path || !slices.Equal(end, c.argv) || command != c.command {
			t.Errorf("%s: %s %q, shown as %q", name, spec.Path, spec.Argv, command)
		}
		if spec.Dir != dir || spec.Stdio != keeper.StdioPTY {
			t.Errorf("%s: in %s, stdio %d", name, spec.Dir, spec.Stdio)
		}
		for _, want := range []string{"A=b", "OWN=1", "TERM=xterm-256color", "GC_SESSION_ID=id"} {
			if !slices.Contains(spec.Env, want) {
				t.Errorf("%s: no %s in %q", name, want, spec.Env)
			}
		}
		if slices.Contains(spec.Env, "TERM=dumb") {
			t.Errorf("%s: the caller's TERM is kept", name)
		}
	}
}

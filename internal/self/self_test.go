package self

import (
	"os"
	"path/filepath"
	"testing"
)

func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBeside(t *testing.T) {
	dir, path := t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)
	gc := program(t, filepath.Join(dir, "gctl"))
	if got, err := beside(gc, "gctl-k8s", "gc-k8s"); err == nil || err.Error() != "cannot find gctl-k8s in "+dir+" or on PATH" {
		t.Errorf("%q, %v", got, err)
	}
	for _, want := range []string{filepath.Join(path, "gc-k8s"), filepath.Join(dir, "gc-k8s"), filepath.Join(dir, "gctl-k8s")} {
		program(t, want)
		if got, err := beside(gc, "gctl-k8s", "gc-k8s"); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	// Through a link, the directory is that of the program.
	link := filepath.Join(path, "gc")
	if err := os.Symlink(gc, link); err != nil {
		t.Fatal(err)
	}
	if got, err := beside(link, "gctl-k8s"); err != nil || got != filepath.Join(dir, "gctl-k8s") {
		t.Errorf("%q, %v", got, err)
	}
	// It is never the program itself.
	if got, err := beside(gc, "gctl"); err == nil {
		t.Errorf("%q is its own neighbour", got)
	}
}

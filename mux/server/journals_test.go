package server

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLeftoverFilesAreSwept: a new server removes the files of a dead keeper's sessions.
func TestLeftoverFilesAreSwept(t *testing.T) {
	p := testPaths(t)
	var left []string
	for _, dir := range []string{"history", "recordings"} {
		if err := os.MkdirAll(filepath.Join(p.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(p.Dir, dir, "0123")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		left = append(left, path)
	}
	startServerAt(t, p)
	for _, path := range left {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
}

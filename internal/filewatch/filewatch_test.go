package filewatch

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWatch: a file that is made, written, replaced and removed is reported; another file, and its
// mode, are not.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	w, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	put := func(path, text string) func() error {
		return func() error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"made", put(path, "")}, {"written", put(path, "one")},
		{"replaced", func() error {
			if err := put(other, "two")(); err != nil {
				return err
			}
			return os.Rename(other, path)
		}},
		{"removed", func() error { return os.Remove(path) }},
	} {
		for len(w.C) > 0 {
			<-w.C
		}
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		<-w.C
	}
	if _, err := New(filepath.Join(dir, "none", "file")); err == nil {
		t.Error("a directory that is not there is watched")
	}
}

// TestOtherFiles: what happens to other files is not reported.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	last, err := New(filepath.Join(dir, "last"))
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file.lock", "last"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	<-last.C
	w.Close()
	if len(w.C) > 0 {
		t.Error("another file was reported")
	}
}

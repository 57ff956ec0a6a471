package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gascity.dev/gc/internal/acp/files"
)

func open(t *testing.T) (f *files.Files, dir string) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "work")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(base, "secret"), []byte("secret"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("one\ntwo\nthree\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "binary"), []byte("\xff\x00"), 0o644))
	must(t, os.Truncate(filepath.Join(dir, "binary"), 2))
	must(t, os.Symlink("../secret", filepath.Join(dir, "out")))
	must(t, os.Symlink("..", filepath.Join(dir, "up")))
	must(t, os.Symlink("a", filepath.Join(dir, "in")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	big, err := os.Create(filepath.Join(dir, "big"))
	must(t, err)
	must(t, big.Truncate(files.MaxFile+1))
	must(t, big.Close())
	f, err = files.Open(dir)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f, dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	f, dir := open(t)
	for _, c := range []struct {
		path        string
		line, limit int
		want        string
		err         error
	}{
		{path: "/a", want: "one\ntwo\nthree\n"},
		{path: "/a", line: 2, limit: 1, want: "two\n"},
		{path: "/a", line: 9},
		{path: "/a", line: -1, limit: -1, want: "one\ntwo\nthree\n"},
		{path: "/in", want: "one\ntwo\nthree\n"},
		{path: "/sub/../a", want: "one\ntwo\nthree\n"},
		{path: "/out", err: files.ErrOutside},
		{path: "/up/secret", err: files.ErrOutside},
		{path: "/../secret", err: files.ErrOutside},
		{path: "/sub/../../secret", err: files.ErrOutside},
		{path: "/fifo", err: files.ErrNotFile},
		{path: "/sub", err: files.ErrNotFile},
		{path: "/big", err: files.ErrTooBig},
		{path: "/binary", err: files.ErrNotText},
		{path: "/missing", err: fs.ErrNotExist},
	} {
		got, err := f.Read(dir+c.path, c.line, c.limit)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s from %d, %d: %q, %v", c.path, c.line, c.limit, got, err)
		}
	}
	if _, err := f.Read("a", 0, 0); !errors.Is(err, files.ErrOutside) {
		t.Errorf("a relative path: %v", err)
	}
}

func TestWrite(t *testing.T) {
	f, dir := open(t)
	for path, want := range map[string]error{
		"/new/deep/file": nil, "/a": nil, "/in": nil,
		"/out": files.ErrOutside, "/up/new": files.ErrOutside, "/../new": files.ErrOutside,
		"/fifo": files.ErrNotFile, "/sub": files.ErrNotFile,
	} {
		err := f.Write(dir+path, "text")
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if want != nil {
			continue
		}
		if b, err := os.ReadFile(dir + path); string(b) != "text" {
			t.Errorf("%s holds %q, %v", path, b, err)
		}
	}
	if err := f.Write(dir+"/a", strings.Repeat("x", files.MaxFile+1)); !errors.Is(err, files.ErrTooBig) {
		t.Errorf("too big: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Dir(dir) + "/secret"); string(b) != "secret" {
		t.Errorf("a file outside holds %q", b)
	}
	if _, err := os.Stat(filepath.Dir(dir) + "/new"); err == nil {
		t.Error("a file was made outside")
	}
}

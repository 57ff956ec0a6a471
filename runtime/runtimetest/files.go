package runtimetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gascity.dev/gc/runtime"
)

// statFifo reports whether the named pipe gate in dir exists.
func statFifo(dir string) error {
	info, err := os.Stat(filepath.Join(dir, "gate"))
	if err == nil && info.Mode()&fs.ModeNamedPipe == 0 {
		err = errors.New("no pipe")
	}
	return err
}

// put writes a file below dir.
func (t *T) put(dir, rel, text string) string {
	t.Helper()
	path := filepath.Join(dir, rel)
	t.must(os.MkdirAll(filepath.Dir(path), 0o755))
	t.must(os.WriteFile(path, []byte(text), 0o644))
	return path
}

// holds checks a file's content.
func (t *T) holds(path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Fatalf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

var fileCases = []testCase{
	{name: "copy puts a file below the work dir", needs: []need{programs}, test: func(t *T) {
		work, src := t.TempDir(), t.TempDir()
		name := t.start(runtime.Config{WorkDir: work, Command: "exec cat"})
		file := t.put(src, "note", "text")
		t.must(t.P.CopyTo(t.Ctx, name, file, ""))
		t.holds(filepath.Join(work, "note"), "text")
		t.must(t.P.CopyTo(t.Ctx, name, file, "deep/er/name"))
		t.holds(filepath.Join(work, "deep/er/name"), "text")
	}},
	{name: "copy puts a folder below the work dir", needs: []need{programs}, test: func(t *T) {
		work, src := t.TempDir(), t.TempDir()
		name := t.start(runtime.Config{WorkDir: work, Command: "exec cat"})
		t.put(src, "a", "1")
		t.put(src, "sub/b", "2")
		t.must(t.P.CopyTo(t.Ctx, name, src, "into"))
		t.holds(filepath.Join(work, "into/a"), "1")
		t.holds(filepath.Join(work, "into/sub/b"), "2")
	}},
	{name: "copy out of the work dir is ErrPathEscapes", test: func(t *T) {
		work, src := t.TempDir(), t.TempDir()
		name := t.start(runtime.Config{WorkDir: work, Command: "exec cat"})
		file := t.put(src, "note", "text")
		for _, rel := range []string{"..", "../note", "a/../../note", "/tmp/note"} {
			if err := t.P.CopyTo(t.Ctx, name, file, rel); !errors.Is(err, runtime.ErrPathEscapes) {
				t.Errorf("copy to %q: %v", rel, err)
			}
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(work), "note")); err == nil {
			t.Error("the file is outside")
		}
	}},
	{name: "copy through a link out of the work dir is refused", needs: []need{programs}, test: func(t *T) {
		work, src, outside := t.TempDir(), t.TempDir(), t.TempDir()
		name := t.start(runtime.Config{WorkDir: work, Command: "exec cat"})
		t.must(os.Symlink(outside, filepath.Join(work, "out")))
		if err := t.P.CopyTo(t.Ctx, name, t.put(src, "note", "text"), "out/note"); !errors.Is(err, runtime.ErrPathEscapes) {
			t.Errorf("copy: %v", err)
		}
		if _, err := os.Stat(filepath.Join(outside, "note")); err == nil {
			t.Error("the file is outside")
		}
	}},
	{name: "copy of a missing source, or without a session, is nil", test: func(t *T) {
		name := t.idle()
		t.must(t.P.CopyTo(t.Ctx, name, filepath.Join(t.TempDir(), "none"), ""))
		t.must(t.P.CopyTo(t.Ctx, t.name(), t.put(t.TempDir(), "f", "x"), ""))
	}},
	{name: "overlays and copies are staged before the command runs", needs: []need{programs}, test: func(t *T) {
		work, pack, own, src := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
		t.put(work, "mine", "user")
		t.put(pack, "a", "pack")
		t.put(pack, "mine", "pack")
		t.put(pack, "per-provider/robot/hook", "robot")
		t.put(pack, "per-provider/other/hook", "other")
		t.put(own, "a", "own")
		t.start(runtime.Config{
			WorkDir: work, Command: "cat a mine hook copied > seen; echo >> seen; exec cat",
			ProviderName: "robot", PackOverlayDirs: []string{pack}, OverlayDir: own,
			CopyFiles: []runtime.CopyFile{{Src: t.put(src, "f", "copy"), RelDst: "copied"}},
		})
		if got := t.file(filepath.Join(work, "seen")); got != "ownuserrobotcopy" {
			t.Fatalf("the command saw %q", got)
		}
	}},
	{name: "an overlay with a link out of it fails the start", needs: []need{programs}, test: func(t *T) {
		over, name := t.TempDir(), t.name()
		t.must(os.Symlink("/etc/passwd", filepath.Join(over, "leak")))
		err := t.P.Start(t.Ctx, name, runtime.Config{WorkDir: t.TempDir(), Command: "exec cat", OverlayDir: over})
		if !errors.Is(err, runtime.ErrPathEscapes) {
			t.Errorf("start: %v", err)
		}
		t.running(name, false)
	}},
}

// noneLeft checks that a failed start left no session and no process.
func (t *T) noneLeft(name string) {
	t.Helper()
	t.running(name, false)
	if _, err := t.P.Peek(t.Ctx, name, 0); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("something is left to peek at: %v", err)
	}
	if t.P.Capabilities().ProcessTree {
		if ok, err := t.P.ProcessAlive(t.Ctx, name, []string{"sh", "cat", "sleep"}); ok || err != nil {
			t.Errorf("processes are left: %v, %v", ok, err)
		}
	}
	t.startAs(name, runtime.Config{Command: "exec cat"})
	t.running(name, true)
}

// screenOf returns the screen in a start's error.
func screenOf(err error) string {
	var dead *runtime.StartupDeath
	var blocked *runtime.StartupBlocked
	switch {
	case errors.As(err, &dead):
		return dead.Screen
	case errors.As(err, &blocked):
		return blocked.Screen
	}
	return fmt.Sprintf("no screen in %v", err)
}

package staging_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gascity.dev/gc/internal/staging"
)

// tree makes a directory: path → content; "-> x" is a link to x.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, files)
	return dir
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for p, content := range files {
		full := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the files below dir, except gc's own state.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if strings.HasPrefix(rel, ".gc/") {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(p)
			out[rel] = "-> " + target
			return err
		}
		data, err := os.ReadFile(p)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := read(t, dir)
	for p, c := range want {
		if got[p] != c {
			t.Errorf("%s is %q, want %q", p, got[p], c)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("unexpected file %s", p)
		}
	}
}

func TestOverlayStrength(t *testing.T) {
	weak := tree(t, map[string]string{"a": "pack", "b": "pack", "per-provider/claude/a": "pack claude", "per-provider/other/x": "no"})
	strong := tree(t, map[string]string{"a": "own", "per-provider/claude/c": "own claude", "per-provider/codex/c": "own codex"})
	work := t.TempDir()
	if err := staging.Overlay(t.Context(), work, []string{weak, strong}, []string{"claude", "codex"}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, work, map[string]string{"a": "own", "b": "pack", "c": "own codex"})
}

func TestOverlayNeverTouchesTheUsersFiles(t *testing.T) {
	over := tree(t, map[string]string{"mine": "overlay 1", "same": "equal", "ours": "v1", "edited": "v1"})
	work := tree(t, map[string]string{"mine": "user", "same": "equal"})
	apply := func() {
		t.Helper()
		if err := staging.Overlay(t.Context(), work, []string{over}, nil); err != nil {
			t.Fatal(err)
		}
	}
	apply()
	put(t, work, map[string]string{"edited": "by the user"})
	put(t, over, map[string]string{"mine": "overlay 2", "same": "changed", "ours": "v2", "edited": "v2"})
	apply()
	wantTree(t, work, map[string]string{"mine": "user", "same": "equal", "ours": "v2", "edited": "by the user"})
}

func TestOverlayKeepsModesAndInnerLinks(t *testing.T) {
	over := tree(t, map[string]string{"bin/run": "#!/bin/sh\n", "current": "-> bin/run"})
	if err := os.Chmod(filepath.Join(over, "bin/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := staging.Overlay(t.Context(), work, []string{over}, nil); err != nil {
		t.Fatal(err)
	}
	wantTree(t, work, map[string]string{"bin/run": "#!/bin/sh\n", "current": "-> bin/run"})
	if info, err := os.Stat(filepath.Join(work, "bin/run")); err != nil || info.Mode().Perm() != 0o755 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestLinksOutOfTheTreeAreRefused(t *testing.T) {
	secret := tree(t, map[string]string{"key": "secret"})
	for name, target := range map[string]string{
		"absolute": filepath.Join(secret, "key"),
		"relative": "../../../../../../../../etc/passwd",
		"dangling": "nowhere",
	} {
		t.Run(name, func(t *testing.T) {
			src := tree(t, map[string]string{"a": "fine", "leak": "-> " + target})
			work := t.TempDir()
			err := staging.Overlay(t.Context(), work, []string{src}, nil)
			if !errors.Is(err, staging.ErrEscapes) || !strings.Contains(err.Error(), "leak") {
				t.Errorf("overlay: %v", err)
			}
			err = staging.CopyAll(t.Context(), work, []staging.Copy{{Src: src}})
			if !errors.Is(err, staging.ErrEscapes) {
				t.Errorf("copy: %v", err)
			}
			wantTree(t, work, nil)
		})
	}
}

func TestDestinationsOutOfTheWorkDirAreRefused(t *testing.T) {
	src := tree(t, map[string]string{"f": "x"})
	outside := t.TempDir()
	work := tree(t, map[string]string{"out": "-> " + outside})
	for _, rel := range []string{"..", "../x", "/tmp/x", "a/../../x", "out/x", "out/"} {
		err := staging.CopyAll(t.Context(), work, []staging.Copy{{Src: filepath.Join(src, "f"), RelDst: rel}})
		if !errors.Is(err, staging.ErrEscapes) {
			t.Errorf("%s: %v", rel, err)
		}
	}
	wantTree(t, outside, nil)
}

func TestCopyAllPlaces(t *testing.T) {
	src := tree(t, map[string]string{"f": "file", "d/one": "1", "d/sub/two": "2"})
	work := tree(t, map[string]string{"have/x": "x", "f": "old"})
	err := staging.CopyAll(t.Context(), work, []staging.Copy{
		{Src: filepath.Join(src, "f")},
		{Src: filepath.Join(src, "f"), RelDst: "new/name"},
		{Src: filepath.Join(src, "f"), RelDst: "into/"},
		{Src: filepath.Join(src, "f"), RelDst: "have"},
		{Src: filepath.Join(src, "d"), RelDst: "deep"},
		{Src: filepath.Join(src, "missing"), Optional: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantTree(t, work, map[string]string{
		"f": "file", "new/name": "file", "into/f": "file", "have/x": "x", "have/f": "file",
		"deep/one": "1", "deep/sub/two": "2",
	})
	if err := staging.CopyAll(t.Context(), work, []staging.Copy{{Src: filepath.Join(src, "missing")}}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing source: %v", err)
	}
}

func TestSpecialFilesAreErrors(t *testing.T) {
	src := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(src, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := staging.CopyAll(t.Context(), t.TempDir(), []staging.Copy{{Src: src}}); err == nil {
		t.Fatal("a pipe was copied")
	}
}

func TestMissingFolders(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := staging.Overlay(t.Context(), t.TempDir(), []string{gone}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing overlay: %v", err)
	}
	over := tree(t, map[string]string{"a": "1"})
	if err := staging.Overlay(t.Context(), gone, []string{over}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing work dir: %v", err)
	}
}

func TestDamagedManifestStopsStaging(t *testing.T) {
	over := tree(t, map[string]string{"a": "1"})
	work := tree(t, map[string]string{".gc/staged.json": "{"})
	if err := staging.Overlay(t.Context(), work, []string{over}, nil); err == nil {
		t.Fatal("no error")
	}
	wantTree(t, work, nil)
}

func TestConcurrentStagingKeepsTheManifestWhole(t *testing.T) {
	work := t.TempDir()
	var wg sync.WaitGroup
	var overs []string
	for i := range 8 {
		overs = append(overs, tree(t, map[string]string{"f" + strconv.Itoa(i): "v1"}))
	}
	run := func() {
		for _, o := range overs {
			wg.Go(func() {
				if err := staging.Overlay(t.Context(), work, []string{o}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	run()
	for i, o := range overs {
		put(t, o, map[string]string{"f" + strconv.Itoa(i): "v2"})
	}
	run() // only files in the manifest may be replaced
	for p, c := range read(t, work) {
		if c != "v2" {
			t.Errorf("%s is %q: the manifest forgot it", p, c)
		}
	}
}

func TestCancelledStagingWritesNothingMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	work := t.TempDir()
	over := tree(t, map[string]string{"a": "1"})
	if err := staging.Overlay(ctx, work, []string{over}, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantTree(t, work, nil)
}

func TestSlots(t *testing.T) {
	dir := tree(t, map[string]string{"per-provider/special/x": "", "per-provider/claude/x": ""})
	for _, c := range []struct {
		overlay, provider string
		hooks, want       []string
	}{
		{"special", "claude", nil, []string{"special"}},
		{"unknown", "claude", nil, []string{"claude"}},
		{"", "claude", []string{"codex", "", "claude", "codex"}, []string{"claude", "codex"}},
		{"", "", nil, nil},
	} {
		if got := staging.Slots([]string{dir}, c.overlay, c.provider, c.hooks); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

package staging_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/internal/testenv"
)

// roomChild is set in the process that runs a test with exhausted resources.
const roomChild = "GC_TEST_NO_ROOM"

// inRoomChild runs the test in a process of its own, in which it returns true: a
// limit on descriptors would affect the others.
func inRoomChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv(roomChild) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), roomChild+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// kinds are the ways to stage a tree.
var kinds = map[string]func(work, src string) error{
	"overlay": func(work, src string) error {
		return staging.Overlay(context.Background(), work, []string{src}, nil)
	},
	"copy": func(work, src string) error {
		return staging.CopyAll(context.Background(), work, []staging.Copy{{Src: src}})
	},
	"overlay by tar": func(work, src string) error {
		return send(context.Background(), work, staging.Plan{Overlays: []string{src}})
	},
	"copy by tar": func(work, src string) error {
		return send(context.Background(), work, staging.Plan{Copies: []staging.Copy{{Src: src}}})
	},
}

// wantWhole wants each file old, new or absent, and nothing temporary.
func wantWhole(t *testing.T, work string, contents ...string) {
	t.Helper()
	for p, c := range read(t, work) {
		whole := false
		for _, want := range contents {
			whole = whole || c == want
		}
		if !whole || strings.Contains(p, ".gc-staging") {
			t.Errorf("%s is left with %d bytes", p, len(c))
		}
	}
}

// TestStagingWithoutDescriptors: wherever the descriptors run out, the error
// names a file or directory, every file is old or new, and the next staging
// completes the work.
func TestStagingWithoutDescriptors(t *testing.T) {
	if !inRoomChild(t) {
		return
	}
	for kind, stage := range kinds {
		t.Run(kind, func(t *testing.T) {
			src := tree(t, map[string]string{"a": "v2", "dir/b": "v2", "dir/deep/c": "v2"})
			for free, failures := 0, 0; ; free++ {
				work := tree(t, map[string]string{"user": "v1"})
				if err := stage(work, tree(t, map[string]string{"a": "v1", "dir/b": "v1"})); err != nil {
					t.Fatal(err)
				}
				restore := leave(t, free)
				err := stage(work, src)
				restore()
				wantWhole(t, work, "v1", "v2")
				if err == nil {
					if failures == 0 {
						t.Error("descriptors did not run out")
					}
					wantTree(t, work, map[string]string{"a": "v2", "dir/b": "v2", "dir/deep/c": "v2", "user": "v1"})
					return
				}
				failures++
				var path *fs.PathError
				var link *os.LinkError
				if !errors.Is(err, unix.EMFILE) || (!errors.As(err, &path) || path.Path == "") && (!errors.As(err, &link) || link.New == "") {
					t.Errorf("with %d descriptors: %v", free, err)
				}
				if err := stage(work, src); err != nil {
					t.Errorf("afterwards: %v", err)
				}
				wantTree(t, work, map[string]string{"a": "v2", "dir/b": "v2", "dir/deep/c": "v2", "user": "v1"})
				if free == 100 {
					t.Fatal(err)
				}
			}
		})
	}
}

// leave limits the process to free new descriptors.
func leave(t *testing.T, free int) (restore func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	next, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: uint64(next + free), Max: old.Max}
	unix.Close(next)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStagingOnAFullDisk: the error names the file that does not fit, every
// file is old or new, and the next staging completes the work.
func TestStagingOnAFullDisk(t *testing.T) {
	const size = 300 << 10 // two fit, three do not
	v1, v2 := strings.Repeat("1", size), strings.Repeat("2", size)
	for kind, stage := range kinds {
		t.Run(kind, func(t *testing.T) {
			work := t.TempDir()
			if err := unix.Mount("tmpfs", work, "tmpfs", 0, "size=1m"); err != nil {
				testenv.Missing(t, "no file system can be mounted here: ", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(work, unix.MNT_DETACH) })
			put(t, work, map[string]string{"user": "mine"})
			if err := stage(work, tree(t, map[string]string{"a": v1, "dir/b": v1})); err != nil {
				t.Fatal(err)
			}
			fill, err := os.Create(filepath.Join(work, "fill"))
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Fallocate(int(fill.Fd()), 0, 0, 300<<10); err != nil {
				t.Fatal(err)
			}
			fill.Close()
			src := tree(t, map[string]string{"a": v2, "dir/b": v2, "dir/c": v2})
			err = stage(work, src)
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "stage a: ") {
				t.Errorf("on a full disk: %v", err)
			}
			if err := os.Remove(filepath.Join(work, "fill")); err != nil {
				t.Fatal(err)
			}
			wantWhole(t, work, v1, v2, "mine")
			if err := os.Remove(filepath.Join(src, "dir/c")); err != nil {
				t.Fatal(err)
			}
			if err := stage(work, src); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			wantTree(t, work, map[string]string{"a": v2, "dir/b": v2, "user": "mine"})
		})
	}
}

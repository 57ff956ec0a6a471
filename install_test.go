package gc_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree lists what is below a directory.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, strings.TrimPrefix(path, dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// make uninstall leaves what was there before make install, also after two installs of
// different files, and nothing else.
func TestUninstallLeavesNothing(t *testing.T) {
	script, err := filepath.Abs("contrib/package/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) error {
		out, err := exec.Command(script, args...).CombinedOutput()
		t.Logf("%v: %v %s", args, err, out)
		return err
	}
	write := func(path string, mode fs.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, prefix := range []string{"/usr/local", "/home/me/.local", "/opt/with blank"} {
		root, first, second := t.TempDir(), t.TempDir(), t.TempDir()
		write(filepath.Join(root, "usr/local/share/man/man1/other.1"), 0o644)
		if err := os.Mkdir(filepath.Join(root, "usr/local/bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		before := tree(t, root)
		write(filepath.Join(first, "bin/gc"), 0o755)
		write(filepath.Join(first, "share/gc/gone"), 0o644)
		write(filepath.Join(second, "bin/gc"), 0o755)
		write(filepath.Join(second, "share/gc/schema"), 0o644)
		write(filepath.Join(second, "share/man/man1/gc.1"), 0o644)
		for _, stage := range []string{first, second} {
			if err := run("install", stage, root, prefix, "gc"); err != nil {
				t.Fatal(err)
			}
		}
		if st, err := os.Stat(filepath.Join(root, prefix, "bin/gc")); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("bin/gc: %v, %v", st, err)
		}
		if err := run("uninstall", root, prefix, "gc"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, tree(t, root)); diff != "" {
			t.Errorf("%s: -before +after uninstall:\n%s", prefix, diff)
		}
		if err := run("uninstall", root, prefix, "gc"); err == nil {
			t.Error("a second uninstall found something")
		}
	}
}

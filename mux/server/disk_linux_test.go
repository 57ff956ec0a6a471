package server

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
)

// smallDisk makes a state directory on a file system of its own with these mount options,
// and returns functions that fill and empty it.
func smallDisk(t *testing.T, options string) (p api.Paths, fill func(full bool)) {
	t.Helper()
	p = testPaths(t)
	if err := os.Mkdir(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", p.Dir, "tmpfs", 0, options+",mode=0700"); err != nil {
		testenv.Missing(t, "no file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(p.Dir, unix.MNT_DETACH) })
	return p, func(full bool) {
		t.Helper()
		name := p.Dir + "/fill"
		if !full {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			return
		}
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for block := make([]byte, 4096); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
}

package server

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
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

// A server that cannot start for lack of space says so, each time, and leaves no process
// behind that holds its lock.
func TestStartOnAFullDisk(t *testing.T) {
	p, fill := smallDisk(t, "size=1m")
	fill(true)
	for range 20 {
		if c, err := client.Ensure(t.Context(), p, "test"); err == nil {
			c.Close()
			t.Fatal("it starts")
		} else if !errors.Is(err, api.ErrStart) || !strings.Contains(err.Error(), "no space left on device") {
			t.Fatal(err)
		}
		if _, err := client.Dial(t.Context(), p); !errors.Is(err, api.ErrNoServer) {
			t.Fatalf("after it: %v", err)
		}
	}
	fill(false)
	c, err := client.Ensure(t.Context(), p, "test")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

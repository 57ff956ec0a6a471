package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
)

// TestExecFullDisk: while the disk is full a command continues and its end is
// not lost; output that could not be written is marked missing, and everything
// works again afterwards.
func TestExecFullDisk(t *testing.T) {
	p := testPaths(t)
	if err := os.Mkdir(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", p.Dir, "tmpfs", 0, "size=6m,mode=0700"); err != nil {
		testenv.Missing(t, "no file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(p.Dir, unix.MNT_DETACH) })
	c := startServerAt(t, p)
	r := run(t, c, api.ExecRequest{Command: "echo first; read x; head -c 4000000 /dev/zero | tr '\\0' y; echo; echo last", Background: true, Owner: "o"})
	pollUntil(t, c, r.ID, "first")
	fill, err := os.Create(p.Dir + "/fill")
	if err != nil {
		t.Fatal(err)
	}
	defer fill.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = fill.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := c.ProcessWrite(t.Context(), r.ID, api.WriteRequest{Submit: true}); err != nil {
		t.Fatal(err)
	}
	await(t, c, r.ID, "^last$")
	other, err := c.Exec(t.Context(), api.ExecRequest{Argv: []string{"true"}, Env: testEnv, Yield: api.Millis(500 * time.Millisecond)})
	if err == nil && other.Status != process.Completed && other.Status != process.Running {
		t.Errorf("another one on a full disk: %+v", other)
	}
	if err := os.Remove(fill.Name()); err != nil {
		t.Fatal(err)
	}
	fill.Close()
	res, err := c.ProcessWait(t.Context(), r.ID, "", 30*time.Second)
	if err != nil || res.Status != process.Completed {
		t.Fatalf("the end was lost: %+v, %v", res, err)
	}
	l, err := c.ProcessLog(t.Context(), r.ID, api.LogRequest{Offset: 1})
	if err != nil || l.TotalBytes != 4_000_000+12 || l.TotalLines != 3 || l.Lines[0].Text != "first" {
		t.Errorf("log: %d bytes, %d lines, %v", l.TotalBytes, l.TotalLines, err)
	}
	missing := uint64(0)
	for _, line := range l.Lines {
		missing += line.Missing
	}
	if missing == 0 {
		t.Error("what is missing is not marked")
	}
	if after := run(t, c, api.ExecRequest{Command: "echo again"}); after.Status != process.Completed || !strings.Contains(after.Output, "again") {
		t.Errorf("afterwards: %+v", after)
	}
}

// TestExecForegroundWithoutRoom: a foreground caller gets every byte, on a disk
// without blocks and on one without inodes.
func TestExecForegroundWithoutRoom(t *testing.T) {
	for name, size := range map[string]string{"blocks": "size=6m", "inodes": "nr_inodes=40"} {
		t.Run(name, func(t *testing.T) {
			p := testPaths(t)
			if err := os.Mkdir(p.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("tmpfs", p.Dir, "tmpfs", 0, size+",mode=0700"); err != nil {
				testenv.Missing(t, "no file system can be mounted here: ", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(p.Dir, unix.MNT_DETACH) })
			c := startServerAt(t, p)
			run(t, c, api.ExecRequest{Command: "echo the database has its pages"})
			full(t, p.Dir, name == "inodes")
			var got []byte
			var end api.ExecResult
			err := c.ExecFollow(t.Context(), api.ExecRequest{Command: "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); echo line $i; done", Env: testEnv}, func(res api.ExecResult) error {
				got, end = append(got, res.Data...), res
				if res.Missing > 0 {
					t.Errorf("%d bytes are missing", res.Missing)
				}
				return nil
			})
			if err != nil || end.Status != process.Completed {
				t.Fatalf("%+v, %v", end, err)
			}
			var want strings.Builder
			for i := range 300_000 {
				fmt.Fprintf(&want, "line %d\n", i+1)
			}
			if string(got) != want.String() {
				t.Errorf("%d of %d bytes: %s", len(got), want.Len(), firstDifference(want.String(), string(got)))
			}
		})
	}
}

// full uses up a file system: its inodes or its blocks.
func full(t *testing.T, dir string, inodes bool) {
	t.Helper()
	for i := 0; ; i++ {
		f, err := os.Create(fmt.Sprintf("%s/fill%d", dir, i))
		if err == nil && !inodes {
			_, err = io.Copy(f, zeros{})
		}
		if f != nil {
			f.Close()
		}
		if errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

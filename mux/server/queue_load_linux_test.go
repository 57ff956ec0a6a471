package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/persontest"
)

// TestQueueWithoutRoom: with a full disk or without descriptors, a queued message is
// late, but neither lost nor typed twice, and the queue does not spin.
func TestQueueWithoutRoom(t *testing.T) {
	for name, starve := range map[string]func(t *testing.T, p api.Paths, server int) (end func()){
		"disk":        starveDisk,
		"descriptors": starveDescriptors,
	} {
		t.Run(name, func(t *testing.T) {
			p := testPaths(t)
			if err := os.Mkdir(p.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("tmpfs", p.Dir, "tmpfs", 0, "size=6m,mode=0700"); err != nil {
				testenv.Missing(t, "no file system can be mounted here: ", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(p.Dir, unix.MNT_DETACH) })
			c := startServerAt(t, p)
			got := filepath.Join(t.TempDir(), "got")
			create(t, c, "reader", `echo ready; while read -r line; do echo "$line" >>`+got+`; done`)
			await(t, c, "reader", "^ready")
			st, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			end := starve(t, p, st.Server.PID)
			var wanted []string
			for i := range 5 { // accepted messages; an error means that none was
				text := fmt.Sprintf("message-%d", i)
				if _, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "reader", Text: text, Policy: api.PolicyImmediate}); err == nil {
					wanted = append(wanted, text)
				}
			}
			before := processorTime(t, st.Server.PID)
			time.Sleep(2 * time.Second) // nothing may happen meanwhile
			if used := processorTime(t, st.Server.PID) - before; used > time.Second {
				t.Errorf("the server was busy for %v of two seconds", used)
			}
			if log, err := os.Stat(p.Log()); err != nil || log.Size() > 64<<10 {
				t.Errorf("log: %v, %v", log, err)
			}
			end()
			if _, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "reader", Text: "last", Policy: api.PolicyImmediate}); err != nil {
				t.Fatal(err)
			}
			wanted = append(wanted, "last")
			want := strings.Join(wanted, "\n") + "\n"
			for deadline := time.Now().Add(persontest.Patience); ; time.Sleep(10 * time.Millisecond) {
				b, _ := os.ReadFile(got)
				if string(b) == want {
					return
				}
				if time.Now().After(deadline) || len(b) > len(want) {
					list, _ := c.Queue(t.Context(), "reader")
					t.Fatalf("got %q, want %q; the queue: %+v", b, want, list)
				}
			}
		})
	}
}

func starveDisk(t *testing.T, p api.Paths, _ int) (end func()) {
	full(t, p.Dir, false)
	return func() {
		fills, err := filepath.Glob(p.Dir + "/fill*")
		if err != nil || len(fills) == 0 {
			t.Fatal(fills, err)
		}
		for _, f := range fills {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func starveDescriptors(t *testing.T, _ api.Paths, server int) (end func()) {
	var old unix.Rlimit
	if err := unix.Prlimit(server, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: 8, Max: old.Max} // fewer than are open, so there is no new one
	if err := unix.Prlimit(server, unix.RLIMIT_NOFILE, &few, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(server, unix.RLIMIT_NOFILE, &old, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// processorTime is a process's processor time (proc_pid_stat(5), utime and stime).
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var user, system int64
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if _, err := fmt.Sscan(f[11]+" "+f[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // 100 ticks a second
}

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// hostileMost limits the bytes of memory that one session may cause, in the server and in
// journals, whatever its program writes.
const hostileMost = 64 << 20

// TestHostileOutput: whatever a program writes, its session stays small, another one
// answers meanwhile, and the server is idle afterwards.
func TestHostileOutput(t *testing.T) {
	t.Parallel()
	size, patience := int64(2<<20), 5*time.Second
	if soaking() {
		size, patience = 200<<20, time.Second
	}
	c := startServer(t)
	create(t, c, "other", "exec cat")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	base := memoryOf(t, st.Server.PID)
	for _, h := range testenv.HostileOutput() {
		began := time.Now()
		s, err := c.Create(t.Context(), api.CreateRequest{
			Name: h.Name, Command: "exec " + os.Args[0],
			Env: append([]string{fmt.Sprintf("%s=%s %d", hostileVar, h.Name, size)}, testEnv...),
		})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		var ask sync.WaitGroup
		slowest := time.Duration(0)
		ask.Go(func() { slowest = slowestEcho(t, c, done) })
		most := int64(0)
		for over := false; !over && time.Since(began) < 10*time.Minute; time.Sleep(20 * time.Millisecond) {
			most = max(most, memoryOf(t, st.Server.PID)-base)
			i, err := c.Get(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			over = i.Title == "over"
		}
		close(done)
		ask.Wait()
		i, err := c.Get(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v, at most %d KiB, slowest answer %v, dropped %+v", h.Name, time.Since(began).Round(time.Millisecond), most>>10, slowest.Round(time.Millisecond), i.Dropped)
		if i.Title != "over" || i.ScreenLost || i.State != api.StateRunning {
			t.Errorf("%s: it ended as %+v", h.Name, i)
		}
		if most > hostileMost {
			t.Errorf("%s: it takes %d MiB", h.Name, most>>20)
		}
		if slowest > patience {
			t.Errorf("%s: another session answered after %v", h.Name, slowest)
		}
		if h.Name == "links-in-a-line" && (i.Dropped == nil || i.Dropped.Links == 0) {
			t.Errorf("%s: the dropped output is not reported: %+v", h.Name, i.Dropped)
		}
		if err := c.Kill(t.Context(), s.ID, 0); err != nil {
			t.Fatal(err)
		}
	}
	awaitIdle(t, st.Server.PID)
}

// slowestEcho types into the other session until done, and returns the longest time until
// the echo.
func slowestEcho(t *testing.T, c *client.Client, done <-chan struct{}) (slowest time.Duration) {
	for i := 0; ; i++ {
		select {
		case <-done:
			return slowest
		default:
		}
		text := fmt.Sprintf("line %d.", i)
		began := time.Now()
		if err := c.Keys(t.Context(), "other", []string{text + "\r"}, true); err != nil {
			t.Error(err)
			return slowest
		}
		r, err := c.Wait(t.Context(), "other", api.WaitRequest{Conditions: []api.Condition{{Text: "^" + text}}, Timeout: 20 * time.Second})
		if err != nil || r.Met != 0 {
			t.Errorf("%q was never seen: %+v, %v", text, r, err)
			return slowest
		}
		slowest = max(slowest, time.Since(began))
	}
}

// memoryOf returns the bytes of a server's memory and its journals.
func memoryOf(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "RssAnon:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	sum := kib << 10
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var st unix.Stat_t
		if name, err := os.Readlink(f); err == nil && strings.Contains(name, "gc-journal") && unix.Stat(f, &st) == nil {
			sum += st.Blocks * 512
		}
	}
	return sum
}

// awaitIdle waits until a process is nearly idle.
func awaitIdle(t *testing.T, pid int) {
	t.Helper()
	used := func() int64 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			t.Fatal(err)
		}
		var ns int64
		_, _ = fmt.Sscan(string(b), &ns)
		return ns
	}
	const window = 500 * time.Millisecond
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		before := used()
		time.Sleep(window)
		if d := used() - before; d < int64(window)/20 {
			return
		}
	}
	t.Error("the server does not rest")
}

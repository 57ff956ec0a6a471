package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"golang.org/x/sys/unix"
)

// soakKills is how often the server is killed; GC_SOAK_KILLS overrides it.
func soakKills() int {
	if n, err := strconv.Atoi(os.Getenv("GC_SOAK_KILLS")); err == nil {
		return n
	}
	return 8
}

// TestNoByteIsLost kills the server at random moments while programs write at full speed,
// and compares screen and history with the output.
func TestNoByteIsLost(t *testing.T) {
	t.Parallel()
	const writers, lines = 4, 15000
	c := startServer(t)
	dir := t.TempDir()
	want := make([]string, writers)
	for i := range writers {
		var b strings.Builder
		for k := range lines {
			fmt.Fprintf(&b, "%d:%d:%s\n", i, k, strings.Repeat("x", k%90))
		}
		want[i] = b.String()
		file := fmt.Sprintf("%s/%d", dir, i)
		if err := os.WriteFile(file, []byte(want[i]), 0o600); err != nil {
			t.Fatal(err)
		}
		create(t, c, fmt.Sprintf("w%d", i), fmt.Sprintf("while [ ! -e %s/go ]; do sleep 0.01; done; for i in 1 2 3; do cat %s; done; exit %d", dir, file, i+1))
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() { killAtRandom(t, c, soakKills(), stop) })
	for i := range writers {
		name := fmt.Sprintf("w%d", i)
		x := awaitExitAcross(t, c, name)
		if x.Code != i+1 {
			t.Errorf("%s: exit %+v", name, x)
		}
	}
	close(stop)
	wg.Wait()
	for i := range writers {
		got := peekAcross(t, c, fmt.Sprintf("w%d", i)) + "\n"
		all := strings.Repeat(want[i], 3)
		if !strings.HasSuffix(all, got) || len(got) < len(want[i])/3 {
			t.Errorf("writer %d: %d bytes, not the end of what was written: %s", i, len(got), firstDifference(all[max(0, len(all)-len(got)):], got))
		}
	}
}

func firstDifference(want, got string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("at %d: want %q, got %q", i, want[i:min(len(want), i+60)], got[i:min(len(got), i+60)])
		}
	}
	return "one is longer"
}

// killAtRandom kills the server n times.
func killAtRandom(t *testing.T, c *client.Client, n int, stop <-chan struct{}) {
	for range n {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rand.IntN(100)) * time.Millisecond):
		}
		st, err := c.Status(t.Context())
		if err != nil {
			continue
		}
		_ = unix.Kill(st.Server.PID, unix.SIGKILL)
	}
}

func awaitExitAcross(t *testing.T, c *client.Client, name string) api.Exit {
	t.Helper()
	for {
		r, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Exit: true}}})
		if err == nil && r.Exit != nil {
			return *r.Exit
		}
		if !errors.Is(err, api.ErrUnreachable) {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
	}
}

func peekAcross(t *testing.T, c *client.Client, name string) string {
	t.Helper()
	for {
		p, err := c.Peek(t.Context(), api.PeekRequest{Name: name})
		if err == nil {
			return p.Text
		}
		if !errors.Is(err, api.ErrUnreachable) {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

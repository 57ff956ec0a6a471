package server

import (
	"os"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
)

// TestQueueOnAFullDisk: while mux.db refuses writes, nothing is typed, no core spins and
// the log stays short. Later the message is typed once.
func TestQueueOnAFullDisk(t *testing.T) {
	t.Parallel()
	p, fill := smallDisk(t, "size=4m")
	c := startServerAt(t, p)
	text := strings.Repeat("a", 400_000) // in one write, so that mux.db has no free page for the next
	it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	fill(true)
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := startReceiver(t, c, "q", "paste")
	log, used := fileSize(t, p.Log()), processorTime(t, st.Server.PID)
	_ = clock.Sleep(t.Context(), 3*time.Second) // nothing may happen meanwhile
	if grown := fileSize(t, p.Log()) - log; grown > 4096 {
		t.Errorf("the log grew by %d bytes", grown)
	}
	if used = processorTime(t, st.Server.PID) - used; used > time.Second {
		t.Errorf("the server used %v", used)
	}
	if got := submitted(t, out); len(got) != 0 {
		t.Errorf("%d messages were typed that could not be leased", len(got))
	}
	fill(false)
	if it = awaitQueue(t, c, it.ID, api.QueueDelivered); it.Tries != 1 {
		t.Errorf("%d tries", it.Tries)
	}
	if got := submitted(t, out); len(got) != 1 || got[0] != text {
		t.Errorf("%d messages arrived", len(got))
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

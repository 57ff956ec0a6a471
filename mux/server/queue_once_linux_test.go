package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
)

// lines reads a file that may not exist yet.
func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

// awaitLine waits until a file has a line.
func awaitLine(t *testing.T, path, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for {
		for _, got := range lines(t, path) {
			if got == line {
				return
			}
		}
		if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			t.Fatalf("%q is not in %s: %q", line, path, lines(t, path))
		}
	}
}

// assassin is a program that kills the server as soon as it reads the line "kill", and
// records every line it reads. It then reports that it works until it reads "idle".
func assassin(dir string) string {
	idle, working := say("7501;state=idle"), say("7501;state=working")
	return `cd ` + dir + `; ` + idle + `while read -r x; do
	case $x in kill*) kill -9 $(cat server); ` + working + `;; idle*) ` + idle + `;; esac
	echo "$x" >>out; echo "got $x"
done`
}

// notePID writes the server's pid to the assassin's file.
func notePID(t *testing.T, c *client.Client, dir string) int {
	t.Helper()
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/server", []byte(strconv.Itoa(st.Server.PID)), 0o600); err != nil {
		t.Fatal(err)
	}
	return st.Server.PID
}

// nudgeOften sends n messages with ids and waits for each in out.
func nudgeOften(t *testing.T, c *client.Client, session, prefix string, n int) {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf("%s%d", prefix, i)
		r, err := c.Nudge(t.Context(), session, api.NudgeRequest{ID: text, Text: text})
		if err != nil || r.State != api.Submitted {
			t.Fatalf("%s: %+v, %v", text, r, err)
		}
	}
}

// TestQueuedMessageIsTypedOnce: a message whose server dies just after its Enter is typed
// once, whatever is typed before the program is idle again.
func TestQueuedMessageIsTypedOnce(t *testing.T) {
	t.Parallel()
	c, dir := startServer(t), t.TempDir()
	create(t, c, "q", assassin(dir))
	notePID(t, c, dir)
	it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: "kill"})
	if err != nil {
		t.Fatal(err)
	}
	awaitLine(t, dir+"/out", "kill")
	nudgeOften(t, c, "q", "other", journal.NudgeMemory+2)
	nudgeOften(t, c, "q", "idle", 1)
	if it, err = c.AwaitQueued(t.Context(), it.ID); err != nil || it.State != api.QueueDelivered && it.Detail == "" {
		t.Errorf("%+v, %v", it, err)
	}
	nudgeOften(t, c, "q", "last", 1)
	got := lines(t, dir+"/out")
	if n := strings.Count(" "+strings.Join(got, " ")+" ", " kill "); n != 1 || len(got) != journal.NudgeMemory+2+3 {
		t.Errorf("typed %d times: %q", n, got)
	}
}

// TestNewestNudgesAreKnown: across many kills, the last NudgeMemory nudges of a
// session are known, and none is typed again.
func TestNewestNudgesAreKnown(t *testing.T) {
	t.Parallel()
	c, dir := startServer(t), t.TempDir()
	create(t, c, "q", assassin(dir))
	var ids []string
	for round := range 4 {
		for i := range 3 {
			id := fmt.Sprintf("r%di%d", round, i)
			ids = append(ids, id)
			nudgeOften(t, c, "q", id, 1)
		}
		killServer(t, c)
	}
	for _, id := range ids[len(ids)-journal.NudgeMemory:] {
		nudgeOften(t, c, "q", id, 1)
	}
	if got := lines(t, dir+"/out"); len(got) != len(ids) {
		t.Errorf("%d messages arrived as %d: %q", len(ids), len(got), got)
	}
}

// TestRefusedMessageIsTriedAgain: a message longer than a line of a cooked
// terminal is typed when the program leaves cooked mode. If it never does, the
// message is given up with the reason.
func TestRefusedMessageIsTriedAgain(t *testing.T) {
	t.Parallel()
	c, dir := startServer(t), t.TempDir()
	s := create(t, c, "q", `stty -echo; echo ready; while [ ! -e `+dir+`/go ]; do sleep 0.05; done
		stty echo -icanon; while read -r line; do echo got ${#line}; echo $line >>`+dir+`/out; done`)
	await(t, c, "q", "ready")
	long := strings.Repeat("x", sys.MaxCanonical+1)
	it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Session: s.ID, Text: long, Policy: api.PolicyImmediate})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(persontest.Patience); it.Tries == 0 || it.State != api.QueueWaiting; {
		if time.Now().After(deadline) {
			t.Fatalf("it is not tried: %+v", it)
		}
		items, err := c.Queue(t.Context(), "q")
		if err != nil || len(items) != 1 {
			t.Fatal(items, err)
		}
		it = items[0]
		_ = clock.Sleep(t.Context(), 10*time.Millisecond)
	}
	if it.Receipt == nil || it.Receipt.State != api.Refused || !strings.Contains(it.Detail, "cooked lines") {
		t.Fatalf("%+v, receipt %+v", it, it.Receipt)
	}
	killServer(t, c)
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, it.ID, api.QueueDelivered)
	if got := lines(t, dir+"/out"); len(got) != 1 || got[0] != long {
		t.Errorf("%d lines arrived: %.40q", len(got), got)
	}

	create(t, c, "cooked", `exec cat`)
	if it, err = c.Enqueue(t.Context(), api.QueueRequest{Target: "cooked", Text: long, Policy: api.PolicyImmediate, TTL: 3 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if it = awaitQueue(t, c, it.ID, api.QueueDead); !strings.Contains(it.Detail, "cooked lines") {
		t.Errorf("given up without a reason: %q", it.Detail)
	}
}

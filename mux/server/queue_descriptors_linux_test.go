package server

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
)

// TestDeliveryWithoutDescriptors: a server without a free descriptor types a
// queued message once and records the outcome, also for the next server.
func TestDeliveryWithoutDescriptors(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{api.PolicyImmediate, api.PolicyWaitIdle} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			c := startServer(t)
			out := startReceiver(t, c, "q", "paste")
			st, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			end := starveDescriptors(t, c.Paths(), st.Server.PID)
			it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: "hello", Policy: policy})
			if err != nil {
				t.Fatal(err)
			}
			used := processorTime(t, st.Server.PID)
			_ = clock.Sleep(t.Context(), 3*time.Second) // time in which it may spin
			if used = processorTime(t, st.Server.PID) - used; used > time.Second {
				t.Errorf("the server used %v", used)
			}
			before := awaitQueue(t, c, it.ID, api.QueueDelivered)
			end()
			killServer(t, c)
			after, err := c.AwaitQueued(t.Context(), it.ID)
			if err != nil || after.State != api.QueueDelivered || after.Tries != before.Tries || after.Tries != 1 {
				t.Errorf("before %+v, after %+v, %v", before, after, err)
			}
			if got := submitted(t, out); len(got) != 1 || got[0] != "hello" {
				t.Errorf("typed %q", got)
			}
		})
	}
}

// TestServerDiesWithoutDescriptors: a server without descriptors dies just after
// Enter, and its keeper has none to start the next one with. The message is typed
// once, and the next server starts when there are descriptors again.
func TestServerDiesWithoutDescriptors(t *testing.T) {
	t.Parallel()
	c, dir := startServer(t), t.TempDir()
	create(t, c, "q", assassin(dir))
	server := notePID(t, c, dir)
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	starveDescriptors(t, c.Paths(), server)
	end := starveDescriptors(t, c.Paths(), st.Keeper.PID)
	it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: "kill"})
	if err != nil {
		t.Fatal(err)
	}
	awaitLine(t, dir+"/out", "kill")
	for deadline := time.Now().Add(10 * time.Second); ; _ = clock.Sleep(t.Context(), 5*time.Millisecond) {
		log, err := os.ReadFile(c.Paths().Log())
		if err == nil && strings.Contains(string(log), unix.EMFILE.Error()) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the keeper did not try to start a server: %v\n%s", err, log)
		}
	}
	end()
	c = startServerAt(t, c.Paths())
	if it, err = c.AwaitQueued(t.Context(), it.ID); err != nil || it.State != api.QueueDelivered && it.Detail == "" {
		t.Errorf("%+v, %v", it, err)
	}
	nudgeOften(t, c, "q", "idle", 1)
	nudgeOften(t, c, "q", "last", 1)
	if got := strings.Join(lines(t, dir+"/out"), " "); got != "kill idle0 last0" {
		t.Errorf("typed %q", got)
	}
	if now, err := c.Status(t.Context()); err != nil || now.Keeper.PID != st.Keeper.PID {
		t.Errorf("another keeper: %+v, %v", now, err)
	}
}

// TestRefusedWithoutDescriptors: a server without a free descriptor retries a message
// that was not typed until the program takes it. It is typed once.
func TestRefusedWithoutDescriptors(t *testing.T) {
	t.Parallel()
	c, dir := startServer(t), t.TempDir()
	create(t, c, "q", `stty -echo; echo ready; while [ ! -e `+dir+`/go ]; do sleep 0.05; done
		stty echo -icanon; while read -r line; do echo got ${#line}; echo $line >>`+dir+`/out; done`)
	await(t, c, "q", "ready")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := starveDescriptors(t, c.Paths(), st.Server.PID)
	long := strings.Repeat("x", sys.MaxCanonical+1)
	it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: long, Policy: api.PolicyImmediate})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); it.Tries == 0 || it.State != api.QueueWaiting; _ = clock.Sleep(t.Context(), 10*time.Millisecond) {
		items, err := c.Queue(t.Context(), "q")
		if err != nil || len(items) != 1 || time.Now().After(deadline) {
			t.Fatal(items, err)
		}
		it = items[0]
	}
	if it.Receipt == nil || it.Receipt.State != api.Refused || it.Detail == "" {
		t.Errorf("%+v, receipt %+v", it, it.Receipt)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, it.ID, api.QueueDelivered)
	end()
	if got := lines(t, dir+"/out"); len(got) != 1 || got[0] != long {
		t.Errorf("%d lines arrived", len(got))
	}
}

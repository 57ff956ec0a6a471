package server

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/internal/queue"
)

// awaitQueue waits until the message has the state. The session's events pace the checks.
func awaitQueue(t *testing.T, c *client.Client, id, state string) api.QueueItem {
	t.Helper()
	for limit := time.Now().Add(15 * time.Second); ; {
		items, err := c.Queue(t.Context(), "")
		if err != nil && !errors.Is(err, api.ErrUnreachable) {
			t.Fatal(err)
		}
		for _, it := range items {
			if it.ID == id && it.State == state {
				return it
			}
		}
		if time.Now().After(limit) {
			for i := range items {
				items[i].Text = fmt.Sprintf("%.40s", items[i].Text)
			}
			t.Fatalf("message %s does not become %s: %.2000s", id, state, fmt.Sprintf("%+v", items))
		}
		_ = clock.Sleep(t.Context(), 10*time.Millisecond)
	}
}

func TestQueueDeliversInOrderAndOnce(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	var last api.QueueItem
	for _, text := range []string{"first", "second", "third"} {
		it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		last = it
	}
	if it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: "not wanted"}); err != nil || c.Dequeue(t.Context(), it.ID) != nil {
		t.Fatal(err)
	}
	killServer(t, c) // the queue is durable and waits for the session
	out := startReceiver(t, c, "q", "paste")
	killServer(t, c)
	awaitQueue(t, c, last.ID, api.QueueDelivered)
	if got := submitted(t, out); len(got) != 3 || got[0] != "first" || got[1] != "second" || got[2] != "third" {
		t.Fatalf("%q", got)
	}
}

func TestQueueGivesUp(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s := create(t, c, "q", "exec cat")
	fenced, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Session: "another", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if it := awaitQueue(t, c, fenced.ID, api.QueueDead); it.Detail == "" {
		t.Errorf("%+v", it)
	}
	short, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "nobody", Text: "x", TTL: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, short.ID, api.QueueDead)
	ok, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Session: s.ID, Text: "at once", Policy: api.PolicyImmediate})
	if err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, ok.ID, api.QueueDelivered)
	if err := c.Dequeue(t.Context(), short.ID); err != nil {
		t.Fatal(err)
	}
	if items, err := c.Queue(t.Context(), "nobody"); err != nil || len(items) != 0 {
		t.Fatal(items, err)
	}
	if _, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Policy: "sometimes"}); !errors.Is(err, api.ErrRequest) {
		t.Fatal(err)
	}
}

// TestQueueWaitsForIdle: a message waits and says why until the program is idle. Messages
// of other sessions do not wait for it.
func TestQueueWaitsForIdle(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx := t.Context()
	for i := range queue.Workers + 1 {
		name := fmt.Sprintf("busy%d", i)
		create(t, c, name, say("7501;state=working")+`read x; printf '\033]7501;state=idle\033\\'; exec cat`)
		if _, err := c.Enqueue(ctx, api.QueueRequest{Target: name, Text: "for " + name}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.Create(ctx, api.CreateRequest{Name: "ready", Command: "printf 'agent> '; exec cat", Env: testEnv, ReadyPrefix: "agent> "})
	if err != nil {
		t.Fatal(err)
	}
	it, err := c.Enqueue(ctx, api.QueueRequest{Target: "ready", Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if it, err = c.AwaitQueued(ctx, it.ID); err != nil || it.State != api.QueueDelivered || it.Receipt.State != api.Submitted {
		t.Fatalf("%+v, %v", it, err)
	}
	all, err := c.Queue(ctx, "busy0")
	if err != nil || len(all) != 1 || all[0].State != api.QueueWaiting || all[0].Tries != 0 || !strings.Contains(all[0].Detail, "state=working") {
		t.Fatalf("%+v, %v", all, err)
	}
	killServer(t, c)
	if err := c.Keys(ctx, "busy0", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if it, err = c.AwaitQueued(ctx, all[0].ID); err != nil || it.State != api.QueueDelivered {
		t.Fatalf("%+v, %v", it, err)
	}
	await(t, c, "busy0", "^for busy0$")
	all, err = c.Queue(ctx, "busy1")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	gone := make(chan error)
	go func() { _, err := c.AwaitQueued(ctx, all[0].ID); gone <- err }()
	if err := c.Dequeue(ctx, all[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; !errors.Is(err, api.ErrNoMessage) {
		t.Fatal(err)
	}
	if err := c.Kill(ctx, "busy2", time.Second); err != nil {
		t.Fatal(err)
	}
}

// TestBlockedMessageIsTriedAgain: a message that a dialog blocked is typed once when the
// dialog is gone, also by the next server.
func TestBlockedMessageIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	gate := t.TempDir() + "/gate"
	create(t, c, "q", `printf 'Do you want to proceed?\n\342\235\257 1. Yes\n  2. No\n'; while [ ! -e `+gate+` ]; do sleep 0.05; done; printf '\033[2J\033[H'; exec cat`)
	await(t, c, "q", "proceed")
	it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "q", Text: "now", Policy: api.PolicyImmediate})
	if err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, it.ID, api.QueueLeased)
	for limit := time.Now().Add(nudge.DefaultWait + 15*time.Second); ; {
		items, err := c.Queue(t.Context(), "")
		if err != nil || time.Now().After(limit) {
			t.Fatalf("%+v, %v", items, err)
		}
		if items[0].State == api.QueueWaiting {
			break
		}
		_ = clock.Sleep(t.Context(), 10*time.Millisecond)
	}
	killServer(t, c)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, it.ID, api.QueueDelivered)
	if got := screenText(t, c, "q"); strings.Count(got, "now") != 2 { // its echo and cat's output
		t.Errorf("%q", got)
	}
}

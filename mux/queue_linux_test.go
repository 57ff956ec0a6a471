package mux

import (
	"errors"
	"testing"
	"time"
)

// awaitQueue waits until the message has the state; the queue has no waiter of
// its own, and the session's events pace the looks.
func awaitQueue(t *testing.T, c *Client, id, state string) QueueItem {
	t.Helper()
	for limit := time.Now().Add(15 * time.Second); ; {
		items, err := c.Queue(t.Context(), "")
		if err != nil && !errors.Is(err, ErrUnreachable) {
			t.Fatal(err)
		}
		for _, it := range items {
			if it.ID == id && it.State == state {
				return it
			}
		}
		if time.Now().After(limit) {
			t.Fatalf("message %s does not become %s: %+v", id, state, items)
		}
		_ = sleep(t.Context(), 10*time.Millisecond)
	}
}

func TestQueueDeliversInOrderAndOnce(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	var last QueueItem
	for _, text := range []string{"first", "second", "third"} {
		it, err := c.Enqueue(t.Context(), QueueRequest{Target: "q", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		last = it
	}
	killServer(t, c) // the queue is durable, and waits for the session
	out := startReceiver(t, c, "q", "paste")
	killServer(t, c)
	awaitQueue(t, c, last.ID, QueueDelivered)
	if got := submitted(t, out); len(got) != 3 || got[0] != "first" || got[1] != "second" || got[2] != "third" {
		t.Fatalf("%q", got)
	}
}

func TestQueueGivesUp(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s := create(t, c, "q", "exec cat")
	fenced, err := c.Enqueue(t.Context(), QueueRequest{Target: "q", Session: "another", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if it := awaitQueue(t, c, fenced.ID, QueueDead); it.Detail == "" {
		t.Errorf("%+v", it)
	}
	short, err := c.Enqueue(t.Context(), QueueRequest{Target: "nobody", Text: "x", TTL: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, short.ID, QueueDead)
	ok, err := c.Enqueue(t.Context(), QueueRequest{Target: "q", Session: s.ID, Text: "when you are idle"})
	if err != nil {
		t.Fatal(err)
	}
	awaitQueue(t, c, ok.ID, QueueDelivered)
	if err := c.Dequeue(t.Context(), short.ID); err != nil {
		t.Fatal(err)
	}
	if items, err := c.Queue(t.Context(), "nobody"); err != nil || len(items) != 0 {
		t.Fatal(items, err)
	}
	if _, err := c.Enqueue(t.Context(), QueueRequest{Target: "q", Policy: "sometimes"}); !errors.Is(err, ErrRequest) {
		t.Fatal(err)
	}
}

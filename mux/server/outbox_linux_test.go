package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// TestOutboxOutlivesItsServers: while servers are killed at random, several programs post
// and a city takes; it gets each message at least once and in order, one that was removed
// never again.
func TestOutboxOutlivesItsServers(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const posters, each = 4, 40
	var posting sync.WaitGroup
	for p := range posters {
		posting.Go(func() {
			for i := range each {
				body, _ := json.Marshal(fmt.Sprintf("%d/%d", p, i))
				r := api.OutboxRequest{ID: fmt.Sprintf("%d-%d", p, i), City: "city", Body: body}
				if err := retry(t.Context(), func() error { _, err := c.Post(t.Context(), r); return err }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var taken []string
	removed := map[string]bool{}
	last := make([]int, posters)
	for len(removed) < posters*each {
		var list []api.OutboxEntry
		err := retry(t.Context(), func() (err error) { list, err = c.Outbox(t.Context(), "city", 0, time.Minute); return err })
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if removed[e.ID] {
				t.Errorf("%s is there again", e.ID)
			}
			var text string
			var p, i int
			if err := json.Unmarshal(e.Body, &text); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscanf(text, "%d/%d", &p, &i); err != nil || i < last[p] {
				t.Errorf("%s after %d, %v", text, last[p], err)
			}
			last[p] = i
			taken = append(taken, e.ID)
			if err := retry(t.Context(), func() error { return c.TakeFromOutbox(t.Context(), "city", e.ID) }); err != nil {
				t.Fatal(err)
			}
			removed[e.ID] = true
			if rand.IntN(12) == 0 {
				killServer(t, c)
			}
		}
	}
	posting.Wait()
	if slices.Sort(taken); len(slices.Compact(taken)) != posters*each {
		t.Errorf("%d of %d messages arrived", len(slices.Compact(taken)), posters*each)
	}
	if list, err := c.Outbox(t.Context(), "", 0, 0); err != nil || len(list) != 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
}

// TestOutboxOnAFullDisk: a message that the disk does not take is not acknowledged, and
// those that were remain; the outbox goes on when there is room.
func TestOutboxOnAFullDisk(t *testing.T) {
	t.Parallel()
	p, fill := smallDisk(t, "size=4m")
	c := startServerAt(t, p)
	post := func(id string, size int) error {
		body, _ := json.Marshal(strings.Repeat("x", size))
		_, err := c.Post(t.Context(), api.OutboxRequest{ID: id, City: "city", Body: body})
		return err
	}
	if err := post("first", 10); err != nil {
		t.Fatal(err)
	}
	fill(true)
	err := post("refused", 500_000)
	if err == nil || errors.Is(err, api.ErrUnreachable) || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("on a full disk: %v", err)
	}
	ids := func() (all []string) {
		list, err := c.Outbox(t.Context(), "city", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			all = append(all, e.ID)
		}
		return all
	}
	if got := ids(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("on a full disk there are %q", got)
	}
	killServer(t, c)
	if got := ids(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("the next server has %q", got)
	}
	fill(false)
	if err := post("refused", 500_000); err != nil {
		t.Fatal(err)
	}
	if got := ids(); !slices.Equal(got, []string{"first", "refused"}) {
		t.Errorf("with room there are %q", got)
	}
}

// TestServerWithMessagesStays: a server without sessions ends itself only when the last
// message was taken.
func TestServerWithMessagesStays(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const idle = 200 * time.Millisecond
	if err := os.WriteFile(p.Dir+"/timing", []byte(idle.String()+" 1h 10"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.Ensure(t.Context(), p, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Post(t.Context(), api.OutboxRequest{ID: "m", City: "city", Body: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	_ = clock.Sleep(t.Context(), 5*idle) // nothing may happen meanwhile
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatalf("it ended with a message: %v", err)
	}
	if err := c.TakeFromOutbox(t.Context(), "city", "m"); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; _, err = c.Status(t.Context()) {
		if err := clock.Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal("it does not end")
		}
	}
	if !errors.Is(err, api.ErrUnreachable) && !errors.Is(err, api.ErrNoServer) {
		t.Error(err)
	}
}

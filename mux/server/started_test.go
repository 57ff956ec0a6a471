package server

import (
	"fmt"
	"sync"
	"testing"

	"gascity.dev/gc/mux/api"
)

// TestStartedComesFirst: the start is published before the end, even of a program that
// ends at once.
func TestStartedComesFirst(t *testing.T) {
	t.Parallel()
	const workers, each = 6, 40
	c := startServer(t)
	events, err := c.Events(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("s%d-%d", w, i)
				if _, err := c.Create(t.Context(), api.CreateRequest{Name: name, Argv: []string{"true"}, Env: testEnv}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	started, exited := map[string]bool{}, 0
	for exited < workers*each && !t.Failed() {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case api.EventStarted:
			started[e.SID] = true
		case api.EventExited:
			exited++
			if !started[e.SID] {
				t.Errorf("%s exited before it started", e.Session)
			}
		}
	}
	wg.Wait()
}

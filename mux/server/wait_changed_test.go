package server

import (
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

func TestWaitForAnotherScreen(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "w", `echo up; read -r x; echo more; exec cat`)
	if _, err := c.Wait(t.Context(), "w", api.WaitRequest{Conditions: []api.Condition{{Text: "^up$"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(t.Context(), "w", api.WaitRequest{Conditions: []api.Condition{{Quiet: 50 * time.Millisecond}}}); err != nil {
		t.Fatal(err)
	}
	seen, err := c.Peek(t.Context(), api.PeekRequest{Name: "w", Screen: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(t.Context(), "w", api.WaitRequest{Conditions: []api.Condition{{Changed: &seen.Revision}}, Timeout: 50 * time.Millisecond})
	if err != nil || !r.TimedOut {
		t.Fatalf("an unchanged screen: %+v, %v", r, err)
	}
	if err := c.Keys(t.Context(), "w", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	r, err = c.Wait(t.Context(), "w", api.WaitRequest{Conditions: []api.Condition{{Changed: &seen.Revision}}, Timeout: 10 * time.Second})
	if err != nil || r.Met != 0 {
		t.Fatalf("a changed screen: %+v, %v", r, err)
	}
}

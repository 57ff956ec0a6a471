//go:build unix

package server

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/vt"
)

var markOf = regexp.MustCompile(`\x1b\]75010;([A-Z0-9]+)\x1b`)

// attachMarked attaches a new person and returns the marker that its terminal
// got. A session that runs, say, ssh would write it.
func attachMarked(t *testing.T, c *client.Client, name string) (*attachRun, string) {
	t.Helper()
	p := persontest.New(t)
	r := attachPerson(p, c, name, nil)
	p.Sees("\x1b]75010;")
	p.Shows("ready")
	found := markOf.FindStringSubmatch(p.All())
	if found == nil {
		t.Fatalf("no mark in %q", p.All())
	}
	return r, vt.Marker(found[1])
}

// TestAttachShowsItself: a terminal whose marker appears in the output of the
// session it shows, directly or through another session, is disconnected with
// that reason. The marker in any other session has no effect.
func TestAttachShowsItself(t *testing.T) {
	t.Parallel()
	c := attachServer(t)
	for _, name := range []string{"one", "two"} {
		create(t, c, name, "stty raw -echo; echo ready; exec cat")
		t.Cleanup(func() { _ = c.Kill(t.Context(), name, 0) })
	}
	marks := 0
	show := func(name, mark string) {
		t.Helper()
		marks++ // a text that no earlier mark left on the screen
		text := fmt.Sprintf("mark %d is shown", marks)
		if err := c.Keys(t.Context(), name, []string{mark + text}, true); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Text: text}}}); err != nil || r.Met != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	wantNested := func(r *attachRun) {
		t.Helper()
		if _, err := r.ended(); !errors.Is(err, api.ErrNested) {
			t.Errorf("ended with %v", err)
		}
	}
	direct, mark := attachMarked(t, c, "one")
	show("one", mark)
	wantNested(direct)

	inner, mark := attachMarked(t, c, "two") // a terminal in session one that shows two
	show("one", mark)
	through, mark := attachMarked(t, c, "one") // and one in session two that shows one
	show("two", mark)
	wantNested(through)
	select {
	case <-inner.done:
		t.Errorf("the first terminal ended: %+v, %v", inner.result, inner.err)
	default:
	}
}

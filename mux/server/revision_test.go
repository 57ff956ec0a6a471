package server

import (
	"fmt"
	"testing"

	"gascity.dev/gc/mux/api"
)

// TestRevisionsAreNotReused: a server never reports a screen as unchanged to a
// reader that has another one.
func TestRevisionsAreNotReused(t *testing.T) {
	b := newJournalBench(t)
	told := map[uint64]string{}
	look := func(when string) {
		t.Helper()
		p, err := b.s.screen.peek(api.PeekRequest{Screen: true, Format: api.FormatJSON})
		if err != nil || p.Screen.Revision != p.Revision {
			t.Fatalf("%s: %+v, %v", when, p, err)
		}
		text := b.s.screen.term.ScreenText()
		if had, known := told[p.Revision]; known && had != text {
			t.Errorf("%s: revision %d is that of %q and of %q", when, p.Revision, had, text)
		}
		told[p.Revision] = text
	}
	look("silent")
	for revision := range told {
		if p, err := b.s.screen.peek(api.PeekRequest{IfRevision: revision}); err != nil || !p.Unchanged {
			t.Errorf("a screen that nothing was written to: %+v, %v", p, err)
		}
	}
	for kill := range 5 {
		for i := range 20 {
			b.write(fmt.Appendf(nil, "%d of server %d\r\n", i, kill))
			look("written")
		}
		if kill == 3 {
			b.s.screen.lose()
			look("lost")
		}
		b.crash(t)
		look("killed")
	}
}

// TestRevisionsOfTheNextSession: a reader by name notices that the name now
// belongs to another session.
func TestRevisionsOfTheNextSession(t *testing.T) {
	c := startServer(t)
	var had uint64
	for _, id := range []string{"first", "second"} {
		if _, err := c.Create(t.Context(), api.CreateRequest{Name: "a", ID: id, Command: "exec sleep 1000", Env: testEnv}); err != nil {
			t.Fatal(err)
		}
		p, err := c.Peek(t.Context(), api.PeekRequest{Name: "a", Screen: true, IfRevision: had})
		if err != nil || p.Unchanged || p.ID != id || p.Revision >= 1<<53 {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
		had = p.Revision
		if err := c.Kill(t.Context(), "a", 0); err != nil {
			t.Fatal(err)
		}
	}
}

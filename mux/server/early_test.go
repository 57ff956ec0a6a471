package server

import (
	"testing"
	"testing/synctest"
)

// TestEarlyReport: a report that comes while its session is being created finds it; one of
// no session is not kept waiting.
func TestEarlyReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{}
		table := &srv.sessions
		table.srv, table.byID, table.byName = srv, map[string]*session{}, map[string]*session{}
		table.created.L = &srv.mu
		if s := table.withIDSoon("id"); s != nil {
			t.Fatal(s)
		}
		table.byName["a"], table.creating = nil, 1
		if s := table.withIDSoon(""); s != nil {
			t.Fatal(s)
		}
		found := make(chan *session, 1)
		go func() { found <- table.withIDSoon("id") }()
		synctest.Wait()
		if len(found) > 0 {
			t.Fatal("it did not wait")
		}
		want := &session{}
		srv.mu.Lock()
		table.byID["id"] = want
		srv.mu.Unlock()
		table.release("a", true)
		if s := <-found; s != want {
			t.Error("another session")
		}
	})
}

package queue

import (
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
	"golang.org/x/sys/unix"
)

// TestOutcomeThatCannotBeWritten: an outcome that mux.db refuses is known all the same,
// and written when possible.
func TestOutcomeThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/mux.db"
	db, err := store.Open(path, store.Schema{Name: "mux", Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	q := New(Options{DB: db, Clock: clock.New(), MaxText: 1 << 20})
	it, err := q.Add(api.QueueRequest{Target: "q", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	it.State, it.Done = api.QueueDelivered, q.Clock.Now()
	q.hold(it, unix.ENOSPC)
	if again := q.pass(t.Context()); again.IsZero() {
		t.Error("it is not tried again")
	}
	if got, err := q.Await(t.Context(), it.ID, time.Hour); err != nil || got.State != api.QueueDelivered {
		t.Errorf("%+v, %v", got, err)
	}
	q.unsaved.next = q.Clock.Now()
	q.pass(t.Context())
	if n := len(q.unsaved.items); n != 0 {
		t.Errorf("%d are unsaved", n)
	}
	if items, err := q.List("q"); err != nil || len(items) != 1 || items[0].State != api.QueueDelivered {
		t.Errorf("%+v, %v", items, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// open returns an outbox with a database at path.
func open(t *testing.T, path string) *Outbox {
	t.Helper()
	db, err := store.Open(path, store.Schema{Name: "mux", Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	o := New(make(chan struct{}))
	o.Open(db, clock.Resume(clock.Anchor{}))
	return o
}

func message(city, id, text string) api.OutboxRequest {
	body, _ := json.Marshal(text)
	return api.OutboxRequest{ID: id, City: city, Body: body}
}

// post posts a message that must be accepted.
func post(t *testing.T, o *Outbox, city, id, text string) api.OutboxEntry {
	t.Helper()
	e, err := o.Post(message(city, id, text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// texts are the bodies of the messages of a city after a place.
func texts(t *testing.T, o *Outbox, city string, after uint64) (all []string) {
	t.Helper()
	list, err := o.List(t.Context(), city, after, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		var s string
		if err := json.Unmarshal(e.Body, &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Each city gets its own messages, in order; one that was taken is gone.
func TestEachCityGetsItsOwnInOrder(t *testing.T) {
	o := open(t, t.TempDir()+"/db")
	for i := range 30 { // also past places of one digit
		city := []string{"/a@1", "/b@2"}[i%2]
		if e := post(t, o, city, fmt.Sprint("m", i/2), fmt.Sprint(city, i/2)); e.Ahead != i/2 {
			t.Errorf("%d are ahead of message %d", e.Ahead, i/2)
		}
	}
	list, err := o.List(t.Context(), "/a@1", 0, 0)
	if err != nil || len(list) != 15 {
		t.Fatal(len(list), err)
	}
	for i, e := range list {
		if string(e.Body) != fmt.Sprintf("%q", fmt.Sprint("/a@1", i)) {
			t.Errorf("message %d is %s", i, e.Body)
		}
	}
	same(t, texts(t, o, "/a@1", list[12].Place), "/a@113", "/a@114")
	if err := o.Remove("/b@2", "m14"); err != nil { // not that of the other city
		t.Fatal(err)
	}
	same(t, texts(t, o, "/a@1", list[13].Place), "/a@114")
	if all, err := o.List(t.Context(), "", 0, 0); err != nil || len(all) != 29 {
		t.Errorf("%d messages in all, %v", len(all), err)
	}
	if err := errors.Join(o.Remove("/b@2", "m14"), o.Remove("/b@2", "none"), o.Remove("/c", "m1")); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
}

// An id is one message: for the next server, and after the message was taken, too.
func TestAnIdIsOneMessage(t *testing.T) {
	path := t.TempDir() + "/db"
	o := open(t, path)
	first := post(t, o, "c", "m", "text")
	if again, err := o.Post(api.OutboxRequest{ID: "m", City: "c", Body: json.RawMessage(" \"text\"\n")}); err != nil || again.Place != first.Place {
		t.Errorf("posted again: %+v, %v", again, err)
	}
	if _, err := o.Post(message("c", "m", "other")); !errors.Is(err, api.ErrReused) {
		t.Errorf("another message with its id: %v", err)
	}
	post(t, o, "c", "n", "next")
	if err := o.db.Close(); err != nil {
		t.Fatal(err)
	}

	o = open(t, path)
	if again := post(t, o, "c", "m", "text"); again.Place != first.Place || !again.Taken.IsZero() {
		t.Errorf("posted to the next server: %+v", again)
	}
	same(t, texts(t, o, "c", 0), "text", "next")
	if err := o.Remove("c", "m"); err != nil {
		t.Fatal(err)
	}
	if again := post(t, o, "c", "m", "text"); again.Taken.IsZero() {
		t.Errorf("posted after it was taken: %+v", again)
	}
	same(t, texts(t, o, "c", 0), "next")
}

// Ids of taken messages are forgotten after an hour, and nothing else.
func TestTakenIdsAreForgotten(t *testing.T) {
	path := t.TempDir() + "/db"
	synctest.Test(t, func(t *testing.T) {
		o := open(t, path)
		for _, id := range []string{"a", "b", "c"} {
			post(t, o, "c", id, id)
		}
		remove := func(id string) {
			if err := o.Remove("c", id); err != nil {
				t.Fatal(err)
			}
		}
		remove("a")
		time.Sleep(api.OutboxMemory - time.Minute)
		remove("b")
		if e := post(t, o, "c", "a", "a"); e.Taken.IsZero() {
			t.Error("it is forgotten too early")
		}
		time.Sleep(2 * time.Minute)
		remove("c")
		if e := post(t, o, "c", "a", "a"); !e.Taken.IsZero() {
			t.Error("it is not forgotten")
		}
		if e := post(t, o, "c", "b", "b"); e.Taken.IsZero() {
			t.Error("a later one is forgotten, too")
		}
		o.db.Close()
	})
}

// A reader that waits gets the next message at once, without looking in between.
func TestAMessageWakesAReader(t *testing.T) {
	path := t.TempDir() + "/db"
	synctest.Test(t, func(t *testing.T) {
		o := open(t, path)
		defer o.db.Close()
		begun := time.Now()
		got := make(chan []api.OutboxEntry)
		go func() {
			list, _ := o.List(t.Context(), "c", 0, time.Hour)
			got <- list
		}()
		synctest.Wait()
		post(t, o, "other", "x", "not for it")
		synctest.Wait()
		select {
		case list := <-got:
			t.Errorf("it got %+v", list)
		default:
		}
		post(t, o, "c", "m", "text")
		if list := <-got; len(list) != 1 || list[0].ID != "m" || time.Since(begun) != 0 {
			t.Errorf("it got %+v after %v", list, time.Since(begun))
		}
		if list, err := o.List(t.Context(), "c", 100, time.Minute); err != nil || len(list) != 0 || time.Since(begun) != time.Minute {
			t.Errorf("%+v, %v after %v", list, err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := o.List(ctx, "c", 100, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that left: %v", err)
		}
		done := make(chan struct{})
		o.done = done
		time.AfterFunc(time.Second, func() { close(done) })
		if list, err := o.List(t.Context(), "c", 100, time.Hour); err != nil || len(list) != 0 {
			t.Errorf("at the server's end: %+v, %v", list, err)
		}
	})
}

// The outbox is bounded by messages and bytes of a city, and by cities; what is taken
// makes room.
func TestItIsBounded(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "db"))
	refused := func(want error, city, id, text string) {
		t.Helper()
		if _, err := o.Post(message(city, id, text)); !errors.Is(err, want) {
			t.Errorf("%.10s for %.10s: %v, want %v", id, city, err, want)
		}
	}
	large := strings.Repeat("x", api.MaxOutboxBody-2)
	for i := range api.MaxOutboxBytes / api.MaxOutboxBody {
		post(t, o, "large", fmt.Sprint(i), large)
	}
	refused(api.ErrOutbox, "large", "more", "")
	if list, err := o.List(t.Context(), "large", 0, 0); err != nil || len(list) != maxListBytes/api.MaxOutboxBody {
		t.Errorf("%d messages in a reply, %v", len(list), err)
	}
	if err := o.Remove("large", "0"); err != nil {
		t.Fatal(err)
	}
	post(t, o, "large", "more", "")

	err := o.db.Update(func(tx *store.Tx) error {
		return totals.Put(tx, cityKey("many"), total{Entries: api.MaxOutboxEntries - 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	post(t, o, "many", "last", "")
	refused(api.ErrOutbox, "many", "more", "")
	post(t, o, "many", "last", "") // known

	for i := range api.MaxOutboxCities - 2 {
		post(t, o, fmt.Sprint("city", i), "m", "")
	}
	refused(api.ErrOutbox, "one more", "m", "")
	if err := o.Remove("city7", "m"); err != nil {
		t.Fatal(err)
	}
	post(t, o, "one more", "m", "")

	refused(api.ErrTooLarge, "city1", "big", large+"x")
	for _, id := range []string{"", strings.Repeat("x", api.MaxOutboxID+1), "a/b", "ä", "a b", "."} {
		refused(api.ErrRequest, "city1", id, "")
	}
	for _, city := range []string{"", strings.Repeat("x", api.MaxOutboxCity+1), "\xff"} {
		refused(api.ErrRequest, city, "m", "")
	}
	for _, body := range []string{"", "{", "1 2", "\x00"} {
		if _, err := o.Post(api.OutboxRequest{ID: "m", City: "city1", Body: json.RawMessage(body)}); !errors.Is(err, api.ErrRequest) {
			t.Errorf("body %q: %v", body, err)
		}
	}
}

// Empty follows the messages.
func TestEmpty(t *testing.T) {
	o := open(t, t.TempDir()+"/db")
	if !o.Empty() {
		t.Error("a new outbox is not empty")
	}
	post(t, o, "c", "m", "")
	if o.Empty() {
		t.Error("it is empty with a message")
	}
	if err := o.Remove("c", "m"); err != nil || !o.Empty() {
		t.Errorf("it is not empty after its last message, %v", err)
	}
}

package queue

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// fake is a server with one session.
type fake struct {
	mu      sync.Mutex
	name    string // of the session; "": there is none
	receipt api.Receipt
	left    api.Receipt // what the last server's nudge came to; empty: nothing was typed
	texts   []string
	at      []time.Time
}

func (f *fake) Running(name string) (Session, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return session{f}, name == f.name
}

func (f *fake) Find(id string) (Session, bool) { return session{f}, id == "id" }

func (f *fake) Typed(string, string, ...string) func(context.Context) (api.Receipt, error) {
	if f.left.State == "" {
		return nil
	}
	return func(context.Context) (api.Receipt, error) { return f.left, nil }
}

// session is the fake's session.
type session struct{ f *fake }

func (s session) ID() string    { return "id" }
func (s session) Running() bool { return true }

func (s session) Activity(context.Context) (api.Activity, error) {
	return api.Activity{State: api.ActivityIdle}, nil
}

func (s session) AwaitActivity(ctx context.Context, _ func(api.Activity) bool) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s session) Nudge(_ context.Context, r api.NudgeRequest) (api.Receipt, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.texts, s.f.at = append(s.f.texts, r.Text), append(s.f.at, time.Now())
	return s.f.receipt, nil
}

// run runs a queue for the fake's session while f does its work, in virtual time.
func run(t *testing.T, host *fake, prepare, f func(t *testing.T, q *Queue)) {
	t.Helper()
	path := t.TempDir() + "/mux.db"
	synctest.Test(t, func(t *testing.T) {
		db, err := store.Open(path, store.Schema{Name: "mux", Version: 1})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		q := New(Options{Host: host, DB: db, Clock: clock.New(), Done: done, MaxText: 100})
		prepare(t, q)
		if err := q.Adopt(); err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(q.Run)
		f(t, q)
		close(done)
		running.Wait()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func none(*testing.T, *Queue) {}

// add adds a message and returns its id.
func add(t *testing.T, q *Queue, text string) string {
	t.Helper()
	it, err := q.Add(api.QueueRequest{Target: "a", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return it.ID
}

// TestRefusedIsTriedAgain: the pauses double up to a minute, and it is given up in the end.
func TestRefusedIsTriedAgain(t *testing.T) {
	host := &fake{name: "a", receipt: api.Receipt{State: api.Refused, Detail: "not now"}}
	run(t, host, none, func(t *testing.T, q *Queue) {
		it, err := q.Await(t.Context(), add(t, q, "x"), 2*time.Hour)
		if err != nil || it.State != api.QueueDead || it.Detail != "gave up after 50 attempts: not now" {
			t.Errorf("%+v, %v", it, err)
		}
	})
	if len(host.at) != maxTries {
		t.Fatalf("%d attempts", len(host.at))
	}
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if d := host.at[i+1].Sub(host.at[i]); d < want*time.Second || d > want*time.Second+100*time.Millisecond {
			t.Errorf("attempt %d came after %v, want %ds", i+2, d, want)
		}
	}
}

// TestTypedIsNotTypedAgain: whatever became of a message that was typed, it ends.
func TestTypedIsNotTypedAgain(t *testing.T) {
	for _, rec := range []api.Receipt{
		{State: api.Unverified, Typed: true}, {State: api.Drafted, Typed: true}, {State: api.Refused, Typed: true, Detail: "it took 2 bytes"},
	} {
		host := &fake{name: "a", receipt: rec}
		run(t, host, none, func(t *testing.T, q *Queue) {
			it, err := q.Await(t.Context(), add(t, q, "x"), time.Hour)
			if err != nil || it.State != api.QueueDead || !strings.HasPrefix(it.Detail, "it was typed and is not typed again") {
				t.Errorf("%s: %+v, %v", rec.State, it, err)
			}
		})
		if len(host.texts) != 1 {
			t.Errorf("%s: typed %d times", rec.State, len(host.texts))
		}
	}
}

// TestMessagesWaitForTheirSession: they are typed once it is there, in order. One that
// expires before is not.
func TestMessagesWaitForTheirSession(t *testing.T) {
	host := &fake{receipt: api.Receipt{State: api.Submitted, Typed: true}}
	run(t, host, none, func(t *testing.T, q *Queue) {
		late, err := q.Add(api.QueueRequest{Target: "a", Text: "late", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		add(t, q, "one")
		two := add(t, q, "two")
		if it, err := q.Await(t.Context(), late.ID, time.Hour); err != nil || it.State != api.QueueDead || it.Detail != "expired" {
			t.Errorf("%+v, %v", it, err)
		}
		host.mu.Lock()
		host.name = "a"
		host.mu.Unlock()
		q.SessionsChanged()
		if it, err := q.Await(t.Context(), two, time.Hour); err != nil || it.State != api.QueueDelivered {
			t.Errorf("%+v, %v", it, err)
		}
	})
	if got := strings.Join(host.texts, " "); got != "one two" {
		t.Errorf("typed: %s", got)
	}
}

// TestLeftByADeadServer: a leased message that was typed ends as its nudge did; one that
// was not is typed.
func TestLeftByADeadServer(t *testing.T) {
	for name, c := range map[string]struct {
		left  api.Receipt
		state string
		typed int
	}{
		"submitted":  {api.Receipt{State: api.Submitted, Typed: true}, api.QueueDelivered, 0},
		"unverified": {api.Receipt{State: api.Unverified, Typed: true}, api.QueueDead, 0},
		"not typed":  {api.Receipt{}, api.QueueDelivered, 1},
	} {
		host := &fake{name: "a", receipt: api.Receipt{State: api.Submitted, Typed: true}, left: c.left}
		var id string
		run(t, host, func(t *testing.T, q *Queue) {
			it, err := q.Add(api.QueueRequest{Target: "a", Text: "x"})
			if err != nil {
				t.Fatal(err)
			}
			it.State, it.Tries, id = api.QueueLeased, 1, it.ID
			q.put(it)
		}, func(t *testing.T, q *Queue) {
			if it, err := q.Await(t.Context(), id, time.Hour); err != nil || it.State != c.state {
				t.Errorf("%s: %+v, %v", name, it, err)
			}
		})
		if len(host.texts) != c.typed {
			t.Errorf("%s: typed %d times, want %d", name, len(host.texts), c.typed)
		}
	}
}

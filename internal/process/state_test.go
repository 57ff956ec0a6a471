package process

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/delivery"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestFinish(t *testing.T) {
	for _, tt := range []struct {
		name   string
		intent string
		end    End
		status Status
		event  string
		reason string
	}{
		{"zero", "", End{}, Completed, EventFinished, ""},
		{"status", "", End{Code: 3}, Failed, EventFailed, ""},
		{"crash", "", End{Code: 139, Signal: "SIGSEGV"}, Failed, EventFailed, ""},
		{"killed from outside", "", End{Code: 137, Signal: "SIGKILL"}, Killed, EventKilled, ""},
		{"killed on request, status 0", IntentKill, End{}, Killed, EventKilled, IntentKill},
		{"timeout, status 0", IntentTimeout, End{}, TimedOut, EventTimedOut, IntentTimeout},
		{"idle", IntentIdle, End{Code: 143, Signal: "SIGTERM"}, TimedOut, EventTimedOut, IntentIdle},
		{"lost", "", End{Code: -1, Lost: true, Reason: "the machine was restarted"}, Lost, EventLost, "the machine was restarted"},
		{"shutdown", IntentShutdown, End{Code: 143, Signal: "SIGTERM"}, Killed, EventKilled, IntentShutdown},
	} {
		tt.end.At = t0.Add(time.Minute)
		r := Record{ID: "x", Status: Running, Intent: tt.intent, Started: t0}.Finish(tt.end)
		e := r.Event()
		if r.Status != tt.status || e.Type != tt.event || r.Reason != tt.reason || r.Duration != time.Minute {
			t.Errorf("%s: %s %s %q %s", tt.name, r.Status, e.Type, r.Reason, r.Duration)
		}
		if again := r.Finish(End{Code: 99, At: t0}); again != r {
			t.Errorf("%s: a second end changed the first: %+v", tt.name, again)
		}
	}
	back := Record{Status: Running, Started: t0}.Finish(End{At: t0.Add(-time.Hour)})
	if back.Duration != 0 {
		t.Errorf("a clock that was put back gives %s", back.Duration)
	}
}

func TestWakes(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    Record
		want bool
	}{
		{"auto in the background", Record{Owner: "o", Background: true}, true},
		{"auto in the foreground", Record{Owner: "o"}, false},
		{"auto, seen", Record{Owner: "o", Background: true, Seen: t0}, false},
		{"no owner", Record{Background: true, Notify: NotifyAlways}, false},
		{"never", Record{Owner: "o", Background: true, Notify: NotifyNever}, false},
		{"always in the foreground", Record{Owner: "o", Notify: NotifyAlways}, true},
		{"failure, completed", Record{Owner: "o", Background: true, Notify: NotifyFailure, Status: Completed}, false},
		{"failure, failed", Record{Owner: "o", Background: true, Notify: NotifyFailure, Status: Failed}, true},
		{"failure, lost", Record{Owner: "o", Background: true, Notify: NotifyFailure, Status: Lost}, true},
		{"shutdown", Record{Owner: "o", Background: true, Notify: NotifyAlways, Intent: IntentShutdown}, false},
	} {
		if got := tt.r.Wakes(); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	if err := CheckNotify("sometimes"); !errors.Is(err, ErrNotify) {
		t.Errorf("sometimes: %v", err)
	}
}

// TestDeliveryEnds: whatever happens in whatever order, a delivery becomes final
// once, and never both delivered and consumed; the clock may jump.
func TestDeliveryEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Delivery{Event: "x/exit", Progress: delivery.Progress{State: Pending, Created: t0, Updated: t0}}
		now := t0
		typed := 0
		for range 40 {
			now = now.Add(time.Duration(rapid.Int64Range(-3600, 3600).Draw(t, "seconds")) * time.Second)
			before := d
			var err error
			verb := rapid.SampledFrom([]string{"lease", "inject", "deliver", "retry", "consume", "give up", "recover"}).Draw(t, "verb")
			switch verb {
			case "lease":
				err = d.Acquire(now)
			case "inject":
				if err = d.Inject("b", "", now); err == nil {
					typed++
				}
			case "deliver":
				err = d.Deliver(now, "")
			case "retry":
				err = d.Retry(now, "why")
			case "consume":
				err = d.Consume(now)
			case "give up":
				err = d.GiveUp(now, "why")
			case "recover":
				d.Recover(now)
			}
			if err != nil && (!errors.Is(err, ErrState) || d != before) {
				t.Fatalf("%s of %s: %v, now %+v", verb, before.State, err, d)
			}
			if before.State.Final() && d != before {
				t.Fatalf("%s changed what was %s", verb, before.State)
			}
			if d.State == Delivered && before.State != Injecting && before.State != Delivered {
				t.Fatalf("delivered from %s", before.State)
			}
			if d.State == Consumed && before.State == Injecting {
				t.Fatal("consumed what may have been typed")
			}
		}
		if d.State == Delivered && typed == 0 {
			t.Fatal("delivered what was never typed")
		}
	})
}

func TestDeliveryTimes(t *testing.T) {
	d := Delivery{Progress: delivery.Progress{State: Pending, Created: t0}}
	var pauses []string
	now := t0
	for range 8 {
		_ = d.Acquire(now)
		_ = d.Retry(now, "busy")
		pauses = append(pauses, d.Next.Sub(now).String())
		if d.Due(d.Next.Add(-time.Nanosecond)) || !d.Due(d.Next) {
			t.Fatalf("due before %s or not at it", d.Next)
		}
		now = d.Next
	}
	if got := strings.Join(pauses, " "); got != "1s 2s 4s 8s 16s 32s 1m0s 1m0s" {
		t.Errorf("pauses %s", got)
	}
	if !d.Due(t0.Add(-48 * time.Hour)) {
		t.Error("a clock that was put back stops the delivery")
	}
	if d.Expired(t0.Add(Policy.Lifetime-1)) || !d.Expired(t0.Add(Policy.Lifetime)) {
		t.Error("dead letters are not those of 24 h")
	}
	leased := Delivery{Progress: delivery.Progress{State: Pending}}
	_ = leased.Acquire(t0)
	if leased.Due(t0.Add(Policy.Lease-1)) || !leased.Due(t0.Add(Policy.Lease)) {
		t.Error("a lease is not 30 s")
	}
}

func TestOverdue(t *testing.T) {
	now := t0.Add(48 * time.Hour)
	ended := func(id, owner string, ago, seen time.Duration) Record {
		r := Record{ID: id, Owner: owner, Status: Completed, Ended: now.Add(-ago)}
		if seen > 0 {
			r.Seen = now.Add(-seen)
		}
		return r
	}
	all := []Record{
		ended("old", "o", 25*time.Hour, 0),
		ended("undelivered", "o", 25*time.Hour, 0),
		ended("seen", "o", time.Hour, 31*time.Minute),
		ended("fresh", "o", time.Hour, 29*time.Minute),
		ended("unseen", "o", 23*time.Hour, 0),
		{ID: "running", Owner: "o", Status: Running},
	}
	for range MaxKept + 3 {
		all = append(all, ended("many", "p", time.Minute, 0))
	}
	ids, next := Overdue(all, map[string]bool{"undelivered/exit": true}, now)
	got := strings.Join(ids, " ")
	if strings.Count(got, "many") != 3 || !strings.Contains(got, "old") || !strings.Contains(got, "seen") {
		t.Errorf("collected: %s", got)
	}
	for _, id := range []string{"undelivered", "fresh", "unseen", "running"} {
		for _, g := range ids {
			if g == id {
				t.Errorf("%s was collected", id)
			}
		}
	}
	if want := now.Add(time.Minute); !next.Equal(want) {
		t.Errorf("looks again at %s, want %s", next, want)
	}
}

func TestMessage(t *testing.T) {
	e := Event{ID: "a/exit", Type: EventFailed, Command: "make\n test", ExitCode: 2, Duration: clock.Millis(125 * time.Second), Tail: "one\ntwo\n"}
	want := "Background command failed with status 2: make test (2m05s)\none\ntwo\n[gc:evt a/exit]"
	if got := Message([]Event{e}); got != want {
		t.Errorf("message:\n%s\nwant:\n%s", got, want)
	}
	e2 := Event{ID: "b/exit", Type: EventFinished, Command: strings.Repeat("x", 500), Label: "long", Tail: strings.Repeat("long line\n", 400)}
	got := Message([]Event{e, e2})
	if strings.Count(got, Tag("a/exit")) != 1 || strings.Count(got, Tag("b/exit")) != 1 || !strings.HasSuffix(got, Tag("b/exit")) {
		t.Errorf("tags: %s", got)
	}
	if len(got) > 1200 {
		t.Errorf("a message of %d bytes", len(got))
	}
}

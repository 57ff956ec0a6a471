package exec_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

// next returns the next event, which must come without a query.
func next(t *testing.T, events <-chan runtime.Event) runtime.Event {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the events have ended")
		}
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no event")
		panic("unreachable")
	}
}

// polled is a script whose sessions are files; asked counts its calls.
const polled = `[ ! -e broken ] || { echo out of order >&2; exit 1; }
case $1 in
start) cat >/dev/null; echo "$2" > "up-$2"
	if [ -e slow ]; then rm -f asked; until [ "$(cat asked 2>/dev/null)" = xx ]; do sleep 0.05; done; fi;;
stop) rm -f "up-$2";;
is-running) [ -e "up-$2" ] && echo true || echo false;;
list-running) [ -e lists ] || exit 2; cat up-* 2>/dev/null; printf x >> asked;;
*) exit 2;;
esac
exit 0`

// The end of a session is noticed within seconds, whether the script can list or not.
// While a script fails, nothing is reported.
func TestEndsAreNoticed(t *testing.T) {
	for name, lists := range map[string]bool{"lists": true, "cannot list": false} {
		t.Run(name, func(t *testing.T) {
			b := newBad(t, polled)
			write := func(name string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			remove := func(name string) {
				t.Helper()
				if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if lists {
				write("lists")
			}
			ctx := t.Context()
			if err := b.Start(ctx, "old", runtime.Config{}); err != nil {
				t.Fatal(err)
			}
			events, err := b.Events(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Start(ctx, "new", runtime.Config{}); err != nil {
				t.Fatal(err)
			}
			if e := next(t, events); e.Kind != runtime.EventStarted || e.Session != "new" {
				t.Fatalf("%+v", e)
			}
			remove("up-old")
			if e := next(t, events); e.Kind != runtime.EventExited || e.Session != "old" || e.Exit == nil || e.Exit.Code != -1 {
				t.Fatalf("%+v", e)
			}
			write("broken")
			select {
			case e := <-events:
				t.Fatalf("a script that fails ended %+v", e)
			case <-time.After(2500 * time.Millisecond): // two rounds
			}
			remove("broken")
			remove("up-new")
			if e := next(t, events); e.Kind != runtime.EventExited || e.Session != "new" {
				t.Fatalf("%+v", e)
			}
			// A start and an end between two rounds are both reported.
			if err := b.Start(ctx, "short", runtime.Config{}); err != nil {
				t.Fatal(err)
			}
			remove("up-short")
			if e := next(t, events); e.Kind != runtime.EventStarted || e.Session != "short" {
				t.Fatalf("%+v", e)
			}
			if e := next(t, events); e.Kind != runtime.EventExited || e.Session != "short" {
				t.Fatalf("%+v", e)
			}
		})
	}
}

// A session that is listed while it is being started is reported once. The start ends
// at the second query.
func TestStartIsReportedOnce(t *testing.T) {
	b := newBad(t, polled)
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("lists")
	if err := b.Start(t.Context(), "old", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	events, err := b.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write("slow")
	if err := b.Start(t.Context(), "new", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events); e.Kind != runtime.EventStarted || e.Session != "new" {
		t.Fatalf("%+v", e)
	}
	if err := os.Remove(filepath.Join(b.dir, "up-new")); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events); e.Kind != runtime.EventExited || e.Session != "new" {
		t.Fatalf("%+v", e)
	}
}

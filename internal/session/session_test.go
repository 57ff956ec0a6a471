package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, path string) *Store {
	t.Helper()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestBudget(t *testing.T) {
	b := Budget{Max: 3, Window: time.Hour}
	var r Record
	now := noon
	var got []string
	for range 12 {
		r.Died(now, b)
		if ok, at := r.MayStart(now); !ok {
			got = append(got, at.Sub(now).String())
			now = at
		} else {
			got = append(got, "now")
		}
		r.Restarted(now)
	}
	want := []string{"now", "now", "now", "1s", "2s", "4s", "8s", "16s", "32s", "1m0s", "1m0s", "1m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if len(r.Restarts) > b.Max+1 || r.Total != 12 {
		t.Errorf("%d restarts kept, total %d", len(r.Restarts), r.Total)
	}
	r.Died(now.Add(2*time.Hour), b)
	if ok, _ := r.MayStart(now.Add(2 * time.Hour)); !ok || r.Quarantined() {
		t.Error("a quiet window ends the quarantine")
	}
	r.Clear()
	if r.Quarantined() || r.Total != 0 || r.Crashed {
		t.Errorf("cleared: %+v", r)
	}
}

// TestBudgetOfPrompts: an agent that gets its prompt at each start is never started more
// often than the budget allows, quarantined or not.
func TestBudgetOfPrompts(t *testing.T) {
	b := Budget{Max: 3, Window: time.Hour, Prompts: true}
	var r Record
	var starts []time.Time
	for now := noon; now.Before(noon.Add(24 * time.Hour)); now = now.Add(time.Minute) { // it dies within a minute
		r.Died(now, b)
		if ok, at := r.MayStart(now); !ok {
			now = at
		}
		r.Restarted(now)
		starts = append(starts, now)
	}
	for i := b.Max; i < len(starts); i++ {
		if d := starts[i].Sub(starts[i-b.Max]); d < b.Window {
			t.Fatalf("%d restarts within %v", b.Max+1, d)
		}
	}
	if len(starts) < 60 {
		t.Errorf("only %d restarts in a day", len(starts))
	}
	if ok, _ := r.MayStart(starts[0].Add(-24 * time.Hour)); !ok {
		t.Error("a wait of a day after the clock was set back")
	}
	r.Clear()
	if ok, _ := r.MayStart(noon); !ok || r.Hold != 0 {
		t.Errorf("cleared: %+v", r)
	}
}

func TestBudgetWithoutLimitAndWithClockJumps(t *testing.T) {
	var free Record
	for range 100 {
		free.Died(noon, Budget{Window: time.Hour})
		free.Restarted(noon)
		if free.Quarantined() {
			t.Fatal("no limit, but quarantined")
		}
	}
	var r Record
	b := Budget{Max: 1, Window: time.Hour}
	r.Died(noon, b)
	r.Restarted(noon)
	r.Died(noon, b)
	back := noon.Add(-24 * time.Hour) // the clock is set back
	if ok, _ := r.MayStart(back); !ok {
		t.Error("a back-off of a day")
	}
	r.Died(back, b)
	if !r.Quarantined() {
		t.Error("a jump must not give a new budget")
	}
	r.Died(back.Add(time.Hour+time.Second), b)
	if r.Quarantined() {
		t.Error("restarts from the future count for ever")
	}
}

func TestRecordsRunsAndEventsSurvive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	run, fresh, err := b.Run()
	if err != nil || !fresh {
		t.Fatalf("run %q %v %v", run, fresh, err)
	}
	rec := Record{Agent: "a", Session: "s", Epoch: 4, LastExit: &runtime.Exit{Code: 3, Time: noon}, Restarts: []time.Time{noon}}
	if err := b.Save(rec).Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if e := b.Append(Event{Kind: fmt.Sprint(i), Time: noon}); e.Seq != uint64(i+1) {
			t.Errorf("event %d has number %d", i, e.Seq)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Save(rec).Wait(); !errors.Is(err, errClosed) {
		t.Errorf("save after close: %v", err)
	}

	b = open(t, path)
	again, fresh, err := b.Run()
	if err != nil || fresh || again != run {
		t.Errorf("run goes on: %q %v %v", again, fresh, err)
	}
	all, err := b.Records()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]Record{"a": rec}, all); diff != "" {
		t.Error(diff)
	}
	if e := b.Append(Event{Kind: "3", Time: noon}); e.Seq != 4 {
		t.Errorf("the sequence goes on at %d", e.Seq)
	}
	list, err := b.Events(1, 0)
	if err != nil || len(list) != 3 || list[0].Seq != 2 || list[2].Kind != "3" {
		t.Errorf("events %+v, %v", list, err)
	}
	if err := b.EndRun(); err != nil {
		t.Fatal(err)
	}
	if id, fresh, _ := b.Run(); !fresh || id == run {
		t.Error("EndRun ends the run")
	}
}

func TestEventsAreCapped(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "city.db"))
	for range keepEvents + 50 {
		b.Append(Event{Kind: "x"})
	}
	if err := b.Save(Record{Agent: "a"}).Wait(); err != nil {
		t.Fatal(err)
	}
	list, err := b.Events(0, 10)
	if err != nil || len(list) != 10 || list[0].Seq != 51 {
		t.Errorf("the oldest kept: %+v, %v", list, err)
	}
}

// fence gives up a nudge that is fenced, as the controller does, and reports
// whether it did.
func fence(n *Nudge, now time.Time, sessionID string) bool {
	why := n.Fenced(now, sessionID, 0)
	return why != "" && n.GiveUp(now, why) == nil
}

func TestNudgeLife(t *testing.T) {
	fresh := func() *Nudge {
		return &Nudge{ID: "1", State: NudgeQueued, SessionID: "s", Expires: noon.Add(time.Hour)}
	}
	n := fresh()
	if fence(n, noon, "s") || fence(n, noon, "") || !fence(n, noon, "other") || n.State != NudgeDead || n.Detail == "" {
		t.Errorf("fence: %+v", n)
	}
	for continues, dead := range map[int64]bool{0: true, 3: false, 4: false, 5: true} {
		n = fresh()
		n.Epoch = 4
		if why := n.Fenced(noon, "other", continues); (why != "") != dead {
			t.Errorf("of epoch 4, for an incarnation that continues %d: %q", continues, why)
		}
	}
	if n = fresh(); !fence(n, noon.Add(time.Hour), "s") || n.State != NudgeDead {
		t.Errorf("expiry: %+v", n)
	}
	outcomes := []struct {
		r    runtime.Receipt
		err  error
		want NudgeState
	}{
		{runtime.Receipt{State: runtime.Submitted}, nil, NudgeDelivered},
		{runtime.Receipt{State: runtime.Unverified}, nil, NudgeDelivered},
		{runtime.Receipt{State: runtime.Blocked, By: "dialog"}, nil, NudgeQueued},
		{runtime.Receipt{State: runtime.Refused}, nil, NudgeQueued},
		{runtime.Receipt{State: runtime.Drafted}, nil, NudgeDead},
		{runtime.Receipt{State: runtime.Dead}, nil, NudgeDead},
		{runtime.Receipt{}, runtime.ErrSessionNotFound, NudgeDead},
		{runtime.Receipt{}, runtime.ErrBackendUnreachable, NudgeDead},
	}
	for _, o := range outcomes {
		n := fresh()
		if err := n.Begin(noon, "s", 1); err != nil {
			t.Fatal(err)
		}
		if n.State != NudgeDelivering || n.Lease.IsZero() || n.Tries != 1 {
			t.Errorf("leased: %+v", n)
		}
		if err := n.End(noon, o.r, o.err); err != nil {
			t.Fatal(err)
		}
		if n.State != o.want || n.State == NudgeDead && n.Detail == "" || n.State == NudgeQueued && !n.NotBefore.After(noon) {
			t.Errorf("%v %v: %+v", o.r, o.err, n)
		}
	}
	n = fresh()
	if err := n.Begin(noon, "s", 1); err != nil {
		t.Fatal(err)
	}
	if err := n.Drop(noon); !errors.Is(err, delivery.ErrState) || n.State != NudgeDelivering {
		t.Errorf("dropped while it is typed: %+v, %v", n, err)
	}
	if !n.Recover(noon) || n.State != NudgeDead {
		t.Errorf("a controller that died while typing: %+v", n)
	}
}

func TestNudgesAndWaitsSurviveInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		n := b.NewNudge(Nudge{Agent: "a", Text: fmt.Sprint(i)}, 0)
		if d := n.Expires.Sub(n.Created); d != DefaultTTL {
			t.Errorf("lives %v", d)
		}
		b.SaveNudge(n)
	}
	w := b.NewWait(Wait{Agent: "a", Until: "exit", Wake: "b"})
	b.SaveWait(w)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, path)
	list, err := b.Nudges()
	if err != nil || len(list) != 12 || list[11].Text != "11" {
		t.Errorf("nudges %+v, %v", list, err)
	}
	stored, err := b.Waits()
	if err != nil || len(stored) != 1 || stored[0].Until != "exit" {
		t.Errorf("waits %+v, %v", stored, err)
	}
	last := b.NewNudge(Nudge{Agent: "b", Text: "met"}, time.Minute)
	if last.ID <= w.ID {
		t.Errorf("id %s does not sort after %s", last.ID, w.ID)
	}
	if err := b.MeetWait(w.ID, last).Wait(); err != nil {
		t.Fatal(err)
	}
	if stored, _ := b.Waits(); len(stored) != 0 {
		t.Errorf("the wait is left: %+v", stored)
	}
	if list, _ := b.Nudges(); len(list) != 13 {
		t.Errorf("%d nudges", len(list))
	}
}

func TestDoneNudgesAreForgottenInTheEnd(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "city.db"))
	for range keepEnded + 20 {
		n := b.NewNudge(Nudge{Agent: "a"}, 0)
		n.State, n.Ended = NudgeDelivered, noon
		b.SaveNudge(n)
	}
	open := b.NewNudge(Nudge{Agent: "a"}, 0)
	if err := b.SaveNudge(open).Wait(); err != nil {
		t.Fatal(err)
	}
	list, err := b.Nudges()
	if err != nil || len(list) != keepEnded+1 || list[len(list)-1].ID != open.ID || list[0].ID != eventKey(21) {
		t.Errorf("%d nudges from %s, %v", len(list), list[0].ID, err)
	}
}

// A disk failure is reported to those who wait. When the disk recovers it gets
// the newest of each record, and every event.
func TestFailingDiskLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Save(Record{Agent: "z"}).Wait(); err != nil { // the writer is waiting now
		t.Fatal(err)
	}
	full, write := true, b.update
	b.mu.Lock()
	b.update = func(fn func(*store.Tx) error) error {
		b.mu.Lock()
		fails := full
		b.mu.Unlock()
		if fails {
			return syscall.ENOSPC
		}
		return write(fn)
	}
	b.mu.Unlock()
	first := b.Append(Event{Kind: "one"})
	if err := b.Save(Record{Agent: "a", Epoch: 1}).Wait(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	b.Append(Event{Kind: "two"})
	n := b.NewNudge(Nudge{Agent: "a"}, 0)
	if err := b.SaveNudge(n).Wait(); err == nil {
		t.Error("a nudge was saved on a full disk")
	}
	if !errors.Is(b.Err(), syscall.ENOSPC) {
		t.Errorf("Err is %v", b.Err())
	}
	if list, err := b.Events(0, 0); err != nil || len(list) != 2 {
		t.Errorf("events %+v, %v", list, err)
	}
	b.mu.Lock()
	full = false
	b.mu.Unlock()
	if err := b.Save(Record{Agent: "b", Epoch: 2}).Wait(); err != nil || b.Err() != nil {
		t.Errorf("%v, %v", err, b.Err())
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, path)
	all, err := b.Records()
	if err != nil || all["a"].Epoch != 1 || all["b"].Epoch != 2 {
		t.Errorf("records %+v, %v", all, err)
	}
	if list, err := b.Nudges(); err != nil || len(list) != 1 || list[0].ID != n.ID {
		t.Errorf("nudges %+v, %v", list, err)
	}
	if list, err := b.Events(0, 0); err != nil || len(list) != 2 || list[0].Seq != first.Seq {
		t.Errorf("events %+v, %v", list, err)
	}
}

// A gap in the sequence hides nothing after it.
func TestEventsBehindAGap(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "city.db"))
	for range 5 {
		b.Append(Event{Kind: "e"})
	}
	if err := b.Save(Record{Agent: "a"}).Wait(); err != nil {
		t.Fatal(err)
	}
	if err := b.db.Update(func(tx *store.Tx) error { return events.Delete(tx, eventKey(3)) }); err != nil {
		t.Fatal(err)
	}
	list, err := b.Events(1, 0)
	if err != nil || len(list) != 3 || list[1].Seq != 4 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A run ends with the machine.
func TestRunEndsWithTheMachine(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "city.db"))
	first, fresh, err := b.Run()
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	if again, fresh, err := b.Run(); err != nil || fresh || again != first {
		t.Errorf("%s, %v, %v", again, fresh, err)
	}
	if clock.Boot() == "" {
		return // the system does not report it
	}
	if err := b.db.Update(func(tx *store.Tx) error { return runs.Put(tx, runKey, run{ID: first, Boot: "another"}) }); err != nil {
		t.Fatal(err)
	}
	if again, fresh, err := b.Run(); err != nil || !fresh || again == first {
		t.Errorf("after a boot: %s, %v, %v", again, fresh, err)
	}
}

// TestTimesAreMonotonic: the clock of nudges does not follow the system's, even
// over a restart; people are shown the system's time.
func TestTimesAreMonotonic(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{time.Hour, -time.Hour, year, -year} {
		path := filepath.Join(t.TempDir(), "city.db")
		b, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		a := clock.New().Anchor()
		a.At = a.At.Add(-jump) // as if the system's clock had been set by jump meanwhile
		if err := b.put("clock", func(tx *store.Tx) error { return clocks.Put(tx, clockKey, a) }).Wait(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from the anchor that the first left
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if b, err = Open(path); err != nil {
				t.Fatal(err)
			}
			if d := b.Now().Sub(time.Now().Add(-jump)); clock.Boot() != "" && d.Abs() > time.Minute {
				t.Errorf("jump %v: the clock is %v off", jump, d)
			}
			n := b.NewNudge(Nudge{Agent: "a", Text: "x"}, time.Hour)
			if fence(&n, b.Now(), "") || !fence(&n, b.Now().Add(time.Hour), "") {
				t.Errorf("jump %v: a nudge of an hour: %+v", jump, n)
			}
			if shown := b.Wall(n.Created); time.Since(shown).Abs() > time.Minute {
				t.Errorf("jump %v: made now, shown as of %v", jump, shown)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is saved between Hold and Release is one write: nothing of it is written
// early or forgotten.
func TestHeldIsOneWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	synctest.Test(t, func(t *testing.T) {
		b := open(t, path)
		writes := 0
		synctest.Wait() // what Open saved is written
		update := b.update
		b.update = func(fn func(*store.Tx) error) error {
			writes++
			return update(fn)
		}
		b.Hold()
		b.Append(Event{Kind: "crashed"})
		b.Save(Record{Agent: "a", Epoch: 1})
		synctest.Wait()
		ticket := b.Save(Record{Agent: "a", Epoch: 2})
		synctest.Wait()
		if writes != 0 {
			t.Errorf("%d writes while it is held", writes)
		}
		b.Release()
		if err := ticket.Wait(); err != nil || writes != 1 {
			t.Errorf("%d writes, %v", writes, err)
		}
		all, err := b.Records()
		if err != nil || all["a"].Epoch != 2 {
			t.Errorf("%+v, %v", all, err)
		}
		if list, err := b.Events(0, 0); err != nil || len(list) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		b.Release() // of nothing
		b.Hold()    // Close does not wait for a Release
		b.Save(Record{Agent: "b"})
	})
	b := open(t, path)
	if all, err := b.Records(); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

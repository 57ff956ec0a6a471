package controller

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
)

// nudges waits until nothing is under way and returns the texts that were
// typed.
func (r *rig) nudges() (texts []string) {
	r.t.Helper()
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	for _, c := range r.fake.CallsOf("Nudge", "") {
		texts = append(texts, c.Text)
	}
	return texts
}

// TestRefusedOnAFullDisk: a nudge or wait that cannot be stored is refused, and
// is not carried out once there is space, although it was due at once.
func TestRefusedOnAFullDisk(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	idleBubble(t, two, func(r *rig, p *idler) {
		ctx := context.Background()
		p.idle.Store(true)
		r.fake.SetPeek("gc-city-a", "all green")
		defer full(t, false)
		full(t, true)
		for _, q := range []api.QueueRequest{{Agent: "a", Text: "now", Immediate: true}, {Agent: "a", Text: "idle"}} {
			if n, err := r.l.calls.Queue(ctx, q); err == nil || api.Hint(err) == "" {
				t.Errorf("%s: %+v, %v", q.Text, n, err)
			}
		}
		for _, until := range []string{"text=all green", "idle"} {
			if w, err := r.l.calls.StoreWait(ctx, api.WaitRequest{Agent: "a", Until: until, Wake: "b"}); err == nil || api.Hint(err) == "" {
				t.Errorf("until %s: %+v, %v", until, w, err)
			}
		}
		if got := r.nudges(); len(got) > 0 {
			t.Errorf("on a full disk typed %q", got)
		}
		full(t, false)
		if got := r.nudges(); len(got) > 0 {
			t.Errorf("with room again typed %q", got)
		}
		for _, what := range []string{"again", "after a restart"} {
			nudges, err := r.l.calls.Nudges(ctx)
			if err != nil || len(nudges) > 0 {
				t.Errorf("%s: nudges %+v, %v", what, nudges, err)
			}
			waits, err := r.l.calls.Waits(ctx)
			if err != nil || len(waits) > 0 {
				t.Errorf("%s: waits %+v, %v", what, waits, err)
			}
			r.end()
			r.start(func(o *Options) { o.Provider = p })
			if got := r.nudges(); len(got) > 0 {
				t.Errorf("after a restart typed %q", got)
			}
		}
	})
}

// TestDroppedOnAFullDisk: what is dropped before it is due is not carried out;
// the error says that it is still on disk. Once there is space, it is removed
// from the disk.
func TestDroppedOnAFullDisk(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	idleBubble(t, two, func(r *rig, p *idler) {
		ctx := context.Background()
		n := r.queue(api.QueueRequest{Agent: "a", Text: "dropped"})
		w, err := r.l.calls.StoreWait(ctx, api.WaitRequest{Agent: "a", Until: "text=all green", Wake: "b"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // both are in progress
		defer full(t, false)
		full(t, true)
		for what, err := range map[string]error{"nudge": r.l.calls.DropNudge(ctx, n.ID), "wait": r.l.calls.DropWait(ctx, w.ID)} {
			if err == nil || !strings.Contains(err.Error(), "is dropped, but returns") || api.Hint(err) == "" {
				t.Errorf("%s: %v", what, err)
			}
		}
		p.idle.Store(true)
		r.fake.SetPeek("gc-city-a", "all green")
		if got := r.nudges(); len(got) > 0 {
			t.Errorf("on a full disk typed %q", got)
		}
		full(t, false)
		if got := r.nudges(); len(got) > 0 {
			t.Errorf("with room again typed %q", got)
		}
		r.end()
		r.start(func(o *Options) { o.Provider = p })
		if got := r.nudges(); len(got) > 0 {
			t.Errorf("after a restart typed %q", got)
		}
	})
}

// TestMetOnAFullDisk: a wait that is met wakes its agent once, as soon as the lease
// of the note is on disk.
func TestMetOnAFullDisk(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	idleBubble(t, two, func(r *rig, p *idler) {
		p.idle.Store(true)
		w, err := r.l.calls.StoreWait(context.Background(), api.WaitRequest{Agent: "a", Until: "text=all green", Wake: "b", Note: "go on"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		defer full(t, false)
		full(t, true)
		r.fake.SetPeek("gc-city-a", "all green")
		if got := r.nudges(); len(got) > 0 {
			t.Errorf("on a full disk typed %q", got)
		}
		full(t, false)
		if got := r.nudges(); len(got) != 1 || !strings.Contains(got[0], "go on") {
			t.Errorf("with room again typed %q", got)
		}
		r.end()
		r.start(func(o *Options) { o.Provider = p })
		if got := r.nudges(); len(got) != 1 {
			t.Errorf("after a restart typed %q; wait %s", got, w.ID)
		}
	})
}

// TestSuspendedOnAFullDisk: a suspension takes effect, and the error says that it is
// not on disk yet. It is stored as soon as there is space.
func TestSuspendedOnAFullDisk(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	bubble(t, suspendCity, func(r *rig) {
		ctx := context.Background()
		r.start()
		r.wantState("a", api.StateRunning)
		defer full(t, false)
		full(t, true)
		for what, err := range map[string]error{
			"agent": r.l.calls.SetSuspended(ctx, []string{"a"}, true),
			"rig":   r.l.calls.SetRigsSuspended(ctx, []string{"east"}, true),
		} {
			if err == nil || !strings.Contains(err.Error(), "is done, but lost if the controller ends") || api.Hint(err) == "" {
				t.Errorf("%s: %v, hint %q", what, err, api.Hint(err))
			}
		}
		time.Sleep(time.Minute)
		r.wantState("a", api.StateSuspended)
		r.wantState("east/b", api.StateSuspended)
		full(t, false)
		time.Sleep(time.Minute)
		r.end()
		r.start()
		r.wantState("a", api.StateSuspended)
		r.wantState("east/b", api.StateSuspended)
		r.end()
	})
}

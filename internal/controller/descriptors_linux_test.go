package controller

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
)

// starve leaves the process without a free descriptor.
func starve(t *testing.T) (restore func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	none := syscall.Rlimit{Cur: 3, Max: old.Max} // those that are open stay
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	if fd, err := syscall.Open("/", syscall.O_RDONLY, 0); err == nil {
		syscall.Close(fd)
		t.Fatal("there are descriptors")
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRequestsWithoutDescriptors: without a free descriptor, what is dropped is not
// carried out, what is accepted is delivered once, and both hold after a restart.
func TestRequestsWithoutDescriptors(t *testing.T) {
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
		restore := starve(t)
		dropped, forgotten := r.l.calls.DropNudge(ctx, n.ID), r.l.calls.DropWait(ctx, w.ID)
		kept, err := r.l.calls.Queue(ctx, api.QueueRequest{Agent: "a", Text: "kept"})
		p.idle.Store(true)
		r.fake.SetPeek("gc-city-a", "all green")
		during := strings.Join(r.nudges(), " ")
		got := r.nudge(kept.ID)
		restore()
		if dropped != nil || forgotten != nil || err != nil {
			t.Errorf("dropped %v, %v; queued %v", dropped, forgotten, err)
		}
		if during != "kept" || got.State != session.NudgeDelivered {
			t.Errorf("typed %q: %+v", during, got)
		}
		r.end()
		r.start(func(o *Options) { o.Provider = p })
		if after := strings.Join(r.nudges(), " "); after != "kept" {
			t.Errorf("after a restart typed %q", after)
		}
	})
}

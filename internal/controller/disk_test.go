package controller

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// diskChild is set in the process that runs TestFullDisk.
const diskChild = "GC_TEST_FULL_DISK"

// full makes every write to a file fail, as on a full disk, by the process's
// limit on file sizes (setrlimit(2), RLIMIT_FSIZE).
func full(t *testing.T, on bool) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if on {
		signal.Ignore(syscall.SIGXFSZ)
		limit.Cur = 1
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
}

// inDiskChild runs the test in a process of its own, in which it returns true:
// the limit would affect the test's log.
func inDiskChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv(diskChild) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), diskChild+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestFullDiskKeepsNudges: a nudge that could not be leased is not typed until
// there is space.
func TestFullDiskKeepsNudges(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.wantState("a", api.StateRunning)
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Blocked, By: "dialog"})
		n := r.queue(api.QueueRequest{Agent: "a", Text: "hello", Immediate: true})
		synctest.Wait()
		tries := len(r.fake.CallsOf("Nudge", ""))
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Submitted})
		defer full(t, false)
		full(t, true)
		time.Sleep(time.Minute)
		if got := r.nudge(n.ID); got.State != session.NudgeQueued || !strings.Contains(got.Detail, "file too large") {
			t.Errorf("on a full disk: %+v", got)
		}
		if got := len(r.fake.CallsOf("Nudge", "")); got != tries {
			t.Errorf("typed %d times without a lease on disk", got-tries)
		}
		full(t, false)
		time.Sleep(maxRetry)
		if got := r.nudge(n.ID); got.State != session.NudgeDelivered {
			t.Errorf("afterwards: %+v", got)
		}
		r.end()
	})
}

// On a full disk the city continues: running agents are looked after; an agent
// that cannot be started reports that, loses nothing, and starts once there is
// space.
func TestFullDisk(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	bubble(t, oneAgent+strings.ReplaceAll(oneAgent, `"a"`, `"b"`), func(r *rig) {
		r.start()
		r.wantState("b", api.StateRunning)
		letter := r.queue(api.QueueRequest{Agent: "b", Text: "too late", TTL: 30 * time.Second})
		kept := r.queue(api.QueueRequest{Agent: "b", Text: "dropped"})
		defer full(t, false)
		full(t, true)
		if _, err := r.l.calls.Queue(context.Background(), api.QueueRequest{Agent: "b", Text: "not on disk"}); err == nil {
			t.Error("a nudge that is not on disk was acknowledged")
		}
		// A nudge whose lease cannot be saved is neither typed nor given up.
		if err := r.l.calls.DropNudge(context.Background(), kept.ID); err == nil || !strings.Contains(err.Error(), "returns") {
			t.Errorf("dropped on a full disk: %v", err)
		}
		r.fake.Exit("gc-city-a", 1)
		a := r.status("a")
		if a.State == api.StateRunning || !strings.Contains(a.Error, "file too large") || a.Hint == "" || r.starts("gc-city-a") != 1 {
			t.Errorf("%+v, %d starts", a, r.starts("gc-city-a"))
		}
		if s, err := r.l.calls.Status(context.Background()); err != nil || !strings.Contains(s.StoreError, "file too large") {
			t.Errorf("store error %q", s.StoreError)
		}
		if err := r.l.calls.StopAgents(context.Background(), []string{"b"}); err != nil {
			t.Fatal(err)
		}
		if b := r.wantState("b", api.StateStopped); b.LastExit == nil {
			t.Errorf("%+v", b)
		}
		time.Sleep(time.Minute)
		if a := r.status("a"); a.Restarts != 0 || a.State == api.StateQuarantined {
			t.Errorf("a full disk is not a crash: %+v", a)
		}
		wantDead(r, letter.ID)
		wantCrash(r) // reported although it is not on disk
		dir := t.TempDir()
		st, err := r.l.calls.Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		left := artifacts{p: r.fake, dir: dir, status: st}
		if err := left.write(context.Background()); err == nil || !strings.Contains(err.Error(), "file too large") {
			t.Errorf("artifacts on a full disk: %v", err)
		}
		if half, _ := filepath.Glob(dir + "/*/" + ArtifactResult); len(half) > 0 {
			t.Errorf("half of the artifacts: %v", half)
		}
		full(t, false)
		time.Sleep(saveRetry + time.Second)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 || a.Error != "" {
			t.Errorf("%+v", a)
		}
		r.end()
		r.start()
		r.wantState("b", api.StateStopped) // the request was not lost
		wantDead(r, letter.ID)
		wantCrash(r)
		if a := r.wantState("a", api.StateRunning); a.Restarts != 1 {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

// wantDead wants one nudge in the queue, given up.
func wantDead(r *rig, id string) {
	r.t.Helper()
	if n := r.nudge(id); n.State != session.NudgeDead || !strings.HasPrefix(n.Detail, "expired") {
		r.t.Errorf("the dead letter: %+v", n)
	}
	if err := r.l.do(context.Background(), func() {
		if len(r.l.nudges.list) != 1 {
			r.t.Errorf("%d nudges", len(r.l.nudges.list))
		}
	}); err != nil {
		r.t.Fatal(err)
	}
}

// wantCrash wants the events of a's crash and of the nudge, and no gap in the
// sequence.
func wantCrash(r *rig) {
	r.t.Helper()
	list, err := r.l.store.Events(0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	crashes, letters := 0, 0
	for i, e := range list {
		if e.Seq != uint64(i+1) {
			r.t.Errorf("event %d is at place %d", e.Seq, i+1)
		}
		switch {
		case e.Kind == api.EventCrashed && e.Agent == "a":
			crashes++
		case e.Kind == api.EventNudge && e.Why == string(session.NudgeDead):
			letters++
		}
	}
	if crashes != 1 || letters != 1 {
		r.t.Errorf("%d crashes and %d dead letters among %d events", crashes, letters, len(list))
	}
}

// A full disk is not a folder without permission.
func TestHintOfAStateFolder(t *testing.T) {
	for err, want := range map[error]string{
		&os.PathError{Op: "write", Err: syscall.ENOSPC}: "free some space on the disk of ",
		&os.PathError{Op: "open", Err: syscall.EROFS}:   "make the folder writable",
	} {
		if got := api.StateDirError("/city", err); !strings.HasPrefix(api.Hint(got), want) || !errors.Is(got, api.ErrStateDir) {
			t.Errorf("%v: %q", got, api.Hint(got))
		}
	}
}

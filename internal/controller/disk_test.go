package controller

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// diskChild is set in the process that runs TestFullDisk.
const diskChild = "GC_TEST_FULL_DISK"

// full makes every write to a file fail, as on a full disk, by the process's
// limit of the size of files (setrlimit(2), RLIMIT_FSIZE).
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

// On a full disk the city goes on: what runs is looked after, what cannot be
// started truthfully says so, costs nothing, and starts when there is room.
func TestFullDisk(t *testing.T) {
	if os.Getenv(diskChild) == "" { // the limit would hit the log of the test itself
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$")
		cmd.Env = append(os.Environ(), diskChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	bubble(t, oneAgent+strings.ReplaceAll(oneAgent, `"a"`, `"b"`), func(r *rig) {
		r.start()
		r.wantState("b", StateRunning)
		defer full(t, false)
		full(t, true)
		r.fake.Exit("gc-city-a", 1)
		a := r.status("a")
		if a.State == StateRunning || !strings.Contains(a.Error, "file too large") || a.Hint == "" || r.starts("gc-city-a") != 1 {
			t.Errorf("%+v, %d starts", a, r.starts("gc-city-a"))
		}
		if s, err := r.l.currentStatus(context.Background()); err != nil || !strings.Contains(s.StoreError, "file too large") {
			t.Errorf("store error %q", s.StoreError)
		}
		if err := r.l.stopAgents(context.Background(), []string{"b"}); err != nil {
			t.Fatal(err)
		}
		if b := r.wantState("b", StateStopped); b.LastExit == nil {
			t.Errorf("%+v", b)
		}
		time.Sleep(time.Minute)
		if a := r.status("a"); a.Restarts != 0 || a.State == StateQuarantined {
			t.Errorf("a full disk is no crash: %+v", a)
		}
		full(t, false)
		time.Sleep(saveRetry + time.Second)
		if a := r.wantState("a", StateRunning); a.Restarts != 1 || a.Error != "" {
			t.Errorf("%+v", a)
		}
		r.end()
		r.start()
		r.wantState("b", StateStopped) // what the person wanted was not lost
		if a := r.wantState("a", StateRunning); a.Restarts != 1 {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/limits"
	"golang.org/x/sys/unix"
)

// TestDescriptorsRunOut takes descriptors from the server, then from the keeper, until no
// session can be created. Running sessions are not lost and can be ended.
func TestDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "lives", "exec cat")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{st.Server.PID, st.Keeper.PID} {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
			t.Fatal(err)
		}
		few := unix.Rlimit{Cur: 64, Max: old.Max}
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &few, nil); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for i := range 40 {
			_, err := c.Create(t.Context(), api.CreateRequest{Name: fmt.Sprintf("s%d", i), Argv: []string{"cat"}, Env: testEnv})
			if err != nil && !errors.Is(err, api.ErrOpenFiles) {
				t.Fatalf("session %d: %v", i, err)
			}
			if err != nil {
				failed++
			}
		}
		if failed == 0 {
			t.Error("descriptors did not run out")
		}
		all, err := c.List(t.Context(), "s", false)
		if err != nil || len(all) != 40-failed {
			t.Fatalf("%d sessions, %d failed, %v", len(all), failed, err)
		}
		for _, s := range all {
			if err := c.Kill(t.Context(), s.Name, time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil); err != nil {
			t.Fatal(err)
		}
	}
	now, err := c.Status(t.Context())
	if err != nil || now.Server.PID != st.Server.PID || now.Keeper.PID != st.Keeper.PID {
		t.Fatalf("%+v, %v", now, err)
	}
	if r, err := c.Nudge(t.Context(), "lives", api.NudgeRequest{Text: "still"}); err != nil || r.State != api.Submitted {
		t.Fatal(r, err)
	}
}

// TestLimitsAreEnforcedOrReportedMissing: limits are enforced, or reported as not,
// depending on this machine.
func TestLimitsAreEnforcedOrReportedMissing(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	l := api.Limits{MemoryBytes: 64 << 20, CPUs: 1, PIDs: 50, OpenFiles: 40}
	s, err := c.Create(t.Context(), api.CreateRequest{Name: "l", Command: `ulimit -n; grep -i "max data" /proc/self/limits; exec sleep 1000`, Env: testEnv, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Limits) != 4 {
		t.Fatalf("%+v", s.Limits)
	}
	await(t, c, "l", "^40$")
	for _, i := range s.Limits {
		if i.By == api.ByNobody && i.Detail == "" {
			t.Errorf("not held, and not said why: %+v", i)
		}
		if i.Limit == "memory" && i.By == api.ByRlimit {
			await(t, c, "l", "(?i)^max data size +67108864")
		}
	}
	if _, err := c.Create(t.Context(), api.CreateRequest{Name: "neg", Env: testEnv, Limits: api.Limits{PIDs: -1}}); !errors.Is(err, api.ErrRequest) {
		t.Errorf("a negative limit: %v", err)
	}
	killServer(t, c)
	again, err := c.Get(t.Context(), "l")
	if err != nil || !slices.Equal(again.Limits, s.Limits) {
		t.Errorf("after a crash %+v, %v", again.Limits, err)
	}
	dir := cgroupOf(t, s.PID)
	if err := c.Kill(t.Context(), "l", time.Second); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(dir, "gc-mux-") {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for unix.Access(dir, unix.F_OK) == nil {
			if err := clock.Sleep(ctx, time.Millisecond); err != nil {
				t.Fatalf("%s stays: %v", dir, err)
			}
		}
		if err := c.Shutdown(ctx, true); err != nil {
			t.Fatal(err)
		}
		if unix.Access(filepath.Dir(dir), unix.F_OK) == nil {
			t.Errorf("%s stays", filepath.Dir(dir))
		}
	}
}

// cgroupOf returns the directory of a process's cgroup, "" if it has none.
func cgroupOf(t *testing.T, pid int) string {
	t.Helper()
	own, top, err := limits.Own()
	if err != nil || own == "" {
		return ""
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			return filepath.Join(top, strings.TrimSpace(rest))
		}
	}
	return ""
}

// bomb forks without end and ignores TERM and HUP.
const bomb = `trap "" TERM HUP; b() { while :; do (b) & done; }
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do sleep 1000 & done
echo ready; (b 2>/dev/null) & (b 2>/dev/null) & (b 2>/dev/null); wait`

// TestForkBomb: the server survives, and the session can be ended, with and without a
// cgroup.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := api.CreateRequest{Env: testEnv, Limits: api.Limits{Processes: 60}, Argv: []string{"sh", "-c", bomb}}
	if os.Geteuid() == 0 { // RLIMIT_NPROC does not bind root
		r.Argv = append([]string{"setpriv", "--reuid=64001", "--regid=64001", "--clear-groups"}, r.Argv...)
	} else if n, err := limits.UserTasks(); err == nil {
		r.Limits.Processes += int64(n)
	}
	for name, pids := range map[string]int64{"rlimit": 0, "cgroup": 60} {
		r.Name, r.Limits.PIDs = name, pids
		s, err := c.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		await(t, c, name, "ready")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if list, err := c.Processes(ctx, name); err != nil || len(list) < 20 {
			t.Fatalf("%d processes, %v", len(list), err)
		}
		if _, err := c.Status(ctx); err != nil {
			t.Fatalf("the server under a fork bomb: %v", err)
		}
		began := time.Now()
		if err := c.Kill(ctx, name, 100*time.Millisecond); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: ended in %v", name, time.Since(began))
		cancel()
		noneIsLeft(t, s)
	}
}

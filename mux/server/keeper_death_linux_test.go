package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// TestKillWithoutAReaper: if the keeper died and no process reaps the programs,
// they still end, and their exit is known.
func TestKillWithoutAReaper(t *testing.T) {
	// orphans are adopted by this process, which reaps none
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	c := startServer(t)
	killed := create(t, c, "killed", "exec cat")
	create(t, c, "ends", "read line; exit 5")
	create(t, c, "fine", "read line")
	before, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(before.Keeper.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for after := before; after.Keeper.PID == 0 || after.Keeper.PID == before.Keeper.PID; {
		if after, err = c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if err := c.Kill(t.Context(), "killed", time.Minute); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the kill took %v", took)
	}
	noneIsLeft(t, killed)
	for name, code := range map[string]int{"ends": 5, "fine": 0} {
		if err := c.Keys(t.Context(), name, []string{"Enter"}, false); err != nil {
			t.Fatal(err)
		}
		if x := awaitExit(t, c, name); x.Code != code || x.Reason == api.ReasonUnknown {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

// TestKeeperClosesTerminals: an ended session that is kept for its last screen
// has no open terminal, in the server or in the keeper.
func TestKeeperClosesTerminals(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for i := range 5 {
		name := fmt.Sprintf("s%d", i)
		create(t, c, name, "echo last words; exit 3")
		awaitExit(t, c, name)
	}
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{st.Keeper.PID, st.Server.PID} {
		for deadline := time.Now().Add(persontest.Patience); ; time.Sleep(5 * time.Millisecond) {
			n := terminalsOf(t, pid)
			if n == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d has %d terminals", pid, n)
			}
		}
	}
	killServer(t, c) // the next one has everything that the keeper held
	for i := range 5 {
		name := fmt.Sprintf("s%d", i)
		if x := awaitExit(t, c, name); x.Code != 3 {
			t.Errorf("%s: %+v", name, x)
		}
		if got := screenText(t, c, name); got != "last words" {
			t.Errorf("%s shows %q", name, got)
		}
	}
}

// terminalsOf counts a process's open terminals.
func terminalsOf(t *testing.T, pid int) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && strings.HasSuffix(to, "/ptmx") {
			n++
		}
	}
	return n
}

// TestCreateAtTheKeepersDeath: a session created just after the keeper's death is
// started, once.
func TestCreateAtTheKeepersDeath(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	runs := t.TempDir() + "/runs"
	for round := range 5 {
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for st.Keeper.PID == 0 { // until its successor was given everything
			if st, err = c.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Kill(st.Keeper.PID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := sys.WaitProcess(t.Context(), st.Keeper.PID); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r, err := c.Exec(t.Context(), api.ExecRequest{Command: fmt.Sprintf("echo %d-%d >> %s", round, i, runs), Env: testEnv})
			if err != nil || r.ExitCode == nil || *r.ExitCode != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	b, err := os.ReadFile(runs)
	if n := strings.Count(string(b), "\n"); err != nil || n != 15 {
		t.Errorf("%d runs, %v:\n%s", n, err, b)
	}
}

// TestDamagedDatabaseIsMentioned: a mux.db that was set aside is in the status until it
// is removed.
func TestDamagedDatabaseIsMentioned(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	if err := statedir.Make(p.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Db(), []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startServerAt(t, p)
	st, err := c.Status(t.Context())
	if err != nil || len(st.Damaged) != 1 || !strings.HasPrefix(st.Damaged[0], p.Db()+".corrupt-") {
		t.Fatalf("%q, %v", st.Damaged, err)
	}
	if err := os.Remove(st.Damaged[0]); err != nil {
		t.Fatal(err)
	}
	if st, err = c.Status(t.Context()); err != nil || len(st.Damaged) != 0 {
		t.Errorf("%q, %v", st.Damaged, err)
	}
}

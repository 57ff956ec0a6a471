package mux

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDescriptorsRunOut takes descriptors away from the server, then from the
// keeper, until a session cannot be made; nothing that runs is lost.
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
		few := unix.Rlimit{Cur: 48, Max: old.Max}
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &few, nil); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for i := range 40 {
			_, err := c.Create(t.Context(), CreateRequest{Name: fmt.Sprintf("s%d", i), Argv: []string{"cat"}, Env: testEnv})
			if err != nil && !errors.Is(err, ErrSpawn) {
				t.Fatalf("session %d: %v", i, err)
			}
			if err != nil {
				failed++
			}
		}
		if failed == 0 {
			t.Error("descriptors did not run out")
		}
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil); err != nil {
			t.Fatal(err)
		}
		all, err := c.List(t.Context(), "s", false)
		if err != nil || len(all) != 40-failed {
			t.Fatalf("%d sessions, %d failed, %v", len(all), failed, err)
		}
		for _, s := range all {
			if err := c.Kill(t.Context(), s.Name, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	now, err := c.Status(t.Context())
	if err != nil || now.Server.PID != st.Server.PID || now.Keeper.PID != st.Keeper.PID {
		t.Fatalf("%+v, %v", now, err)
	}
	if r, err := c.Nudge(t.Context(), "lives", NudgeRequest{Text: "still"}); err != nil || r.State != Submitted {
		t.Fatal(r, err)
	}
}

package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"golang.org/x/sys/unix"
)

// freeze stops a process until the end of the test, or thaw.
func freeze(t *testing.T, pid int) (thaw func()) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw = func() { _ = unix.Kill(pid, unix.SIGCONT) }
	t.Cleanup(thaw)
	for deadline := time.Now().Add(10 * time.Second); !threadsStopped(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not stop", pid)
		}
	}
	return thaw
}

// threadsStopped reports whether no thread of the process runs; each stops separately
// after the signal (proc_pid_stat(5), the state after the name).
func threadsStopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		_, after, ok := bytes.Cut(b, []byte(") "))
		if err != nil || !ok || after[0] != 'T' {
			return false
		}
	}
	return true
}

// TestFrozen: requests to a stopped server, or one whose keeper is stopped, end in time
// with ErrUnreachable. Everything works when it continues.
func TestFrozen(t *testing.T) {
	t.Parallel()
	type question struct {
		name   string
		keeper bool // for a frozen keeper too
		ask    func(ctx context.Context, c *client.Client) error
	}
	questions := []question{
		{"list", false, func(ctx context.Context, c *client.Client) error { _, err := c.List(ctx, "", false); return err }},
		{"wait", false, func(ctx context.Context, c *client.Client) error {
			_, err := c.Wait(ctx, "a", api.WaitRequest{Conditions: []api.Condition{{Exit: true}}})
			return err
		}},
		{"exec", true, func(ctx context.Context, c *client.Client) error {
			return c.ExecFollow(ctx, api.ExecRequest{Command: "true", Env: testEnv}, func(api.ExecResult) error { return nil })
		}},
		{"create", true, func(ctx context.Context, c *client.Client) error {
			_, err := c.Create(ctx, api.CreateRequest{Name: "b", Command: "sleep 1000", Env: testEnv})
			return err
		}},
		{"stop", true, func(ctx context.Context, c *client.Client) error { return c.Shutdown(ctx, true) }},
	}
	var each sync.WaitGroup // most of the time is the limit of silence: all at once
	for _, what := range []string{"server", "keeper"} {
		for _, q := range questions {
			if what == "keeper" && !q.keeper {
				continue
			}
			each.Go(func() {
				t.Run(what+" "+q.name, func(t *testing.T) { frozen(t, what, q.ask) })
			})
		}
	}
	each.Wait()
}

// frozen asks a server of its own while it, or its keeper, is stopped.
func frozen(t *testing.T, what string, ask func(context.Context, *client.Client) error) {
	c := startServer(t)
	create(t, c, "a", "exec cat")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pid := st.Server.PID
	if what == "keeper" {
		pid = st.Keeper.PID
	}
	thaw := freeze(t, pid)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	start := time.Now()
	if err := ask(ctx, c); !errors.Is(err, api.ErrUnreachable) || ctx.Err() != nil {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if took := time.Since(start); took > 25*time.Second {
		t.Errorf("it took %v", took)
	}
	thaw()
	// What was asked for meanwhile is begun and ended again: nobody waits for it.
	left := ""
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if left, err = others(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if left == "" || time.Now().After(deadline) {
			break
		}
	}
	if left != "" {
		t.Errorf("%s is left", left)
	}
}

// others returns the name of a session that the test did not make; "" if there is none.
func others(ctx context.Context, c *client.Client) (string, error) {
	list, err := c.List(ctx, "", false)
	for _, s := range list {
		if s.Name != "a" && s.Name != "b" {
			return s.Name, nil
		}
	}
	return "", err
}

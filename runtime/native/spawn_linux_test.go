package native_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// reaped returns a number that grows whenever a process waits for a child: the minor
// faults of its children, proc_pid_stat(5) field 11.
func reaped(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)[8]
}

// children returns the current children of a process.
func children(t *testing.T, pid int) (all string) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err == nil { // a thread may end
			all += string(data)
		}
	}
	return all
}

// Queries start no process: not here, not in the server, not in the keeper.
func TestQueriesSpawnNothing(t *testing.T) {
	b := newBackend(t)
	p := b.provider(t)
	ctx := t.Context()
	if err := p.Start(ctx, "a", runtime.Config{WorkDir: t.TempDir(), Command: "exec cat", ProcessNames: []string{"cat"}}); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(ctx, b.paths)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	status, err := c.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pids := []int{os.Getpid(), status.Server.PID, status.Keeper.PID}
	count := func() (all []string) {
		for _, pid := range pids {
			all = append(all, reaped(t, pid), children(t, pid))
		}
		return all
	}
	before := count()
	for range 50 {
		_, err := p.IsRunning(ctx, "a")
		check := func(what string, err error) {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		check("IsRunning", err)
		_, err = p.ProcessAlive(ctx, "a", []string{"cat"})
		check("ProcessAlive", err)
		_, err = p.Peek(ctx, "a", 50)
		check("Peek", err)
		_, err = p.ListRunning(ctx, "")
		check("ListRunning", err)
		_, err = p.GetLastActivity(ctx, "a")
		check("GetLastActivity", err)
		_, err = p.GetMeta(ctx, "a", "k")
		check("GetMeta", err)
		_, err = p.IsAttached(ctx, "a")
		check("IsAttached", err)
	}
	for i, now := range count() {
		if now != before[i] {
			t.Errorf("process %d: %q before, %q after the queries", pids[i/2], before[i], now)
		}
	}
}

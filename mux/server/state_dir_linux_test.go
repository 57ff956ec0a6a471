package server

import (
	"errors"
	"os"
	"testing"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/mux/internal/sys"
)

// TestStateDirRemoved: a server whose state directory is removed can still be found, with
// its sessions, metadata and messages.
func TestStateDirRemoved(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(p api.Paths) error{
		"all":    func(p api.Paths) error { return errors.Join(os.RemoveAll(p.Dir), os.Remove(p.Socket)) },
		"dir":    func(p api.Paths) error { return os.RemoveAll(p.Dir) },
		"moved":  func(p api.Paths) error { return os.Rename(p.Dir, p.Dir+".old") },
		"lock":   func(p api.Paths) error { return os.Remove(p.Lock()) },
		"db":     func(p api.Paths) error { return os.Remove(p.Db()) },
		"socket": func(p api.Paths) error { return os.Remove(p.Socket) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testPaths(t)
			c := startServerAt(t, p)
			s := create(t, c, "agent", "echo ready; exec cat")
			await(t, c, "agent", "^ready")
			if err := c.SetMeta(t.Context(), "agent", "k", "v"); err != nil {
				t.Fatal(err)
			}
			st, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := remove(p); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{p.Lock(), p.Db(), p.Socket} {
				awaitFile(t, path)
			}
			killServer(t, c) // the next server can be found as well
			again, err := client.Ensure(t.Context(), p, "test")
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			var got api.SessionInfo
			if err := retry(t.Context(), func() error { got, err = again.Get(t.Context(), "agent"); return err }); err != nil || got.ID != s.ID || got.State != api.StateRunning {
				t.Fatalf("%+v, %v", got, err)
			}
			if v, err := again.GetMeta(t.Context(), "agent", "k"); err != nil || v != "v" {
				t.Errorf("metadata %q, %v", v, err)
			}
			if now, err := again.Status(t.Context()); err != nil || now.Keeper.PID != st.Keeper.PID {
				t.Errorf("keeper %d, then %d, %v", st.Keeper.PID, now.Keeper.PID, err)
			}
			if r := run(t, again, api.ExecRequest{Command: "echo goes on"}); r.Status != process.Completed {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestStateDirRemovedWhileUnused: a server without sessions ends if its state
// directory is removed.
func TestStateDirRemovedWhileUnused(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	c, err := client.Ensure(t.Context(), p, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.Dir); err != nil {
		t.Fatal(err)
	}
	if err := sys.WaitProcess(t.Context(), st.Keeper.PID); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.Dir); !os.IsNotExist(err) {
		t.Errorf("the directory is back: %v", err)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(persontest.Patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(path); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

package limits

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
)

// fakeGroup makes a directory that looks like a cgroup.
func fakeGroup(t *testing.T, dir, controllers string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cgroup.procs": "", "cgroup.subtree_control": controllers} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCgroupOfALimit: the group that delegates the controllers is used, and
// they are set to the limits.
func TestCgroupOfALimit(t *testing.T) {
	top := t.TempDir()
	own := filepath.Join(top, "user", "scope")
	fakeGroup(t, top, "")
	fakeGroup(t, filepath.Join(top, "user"), "memory pids")
	fakeGroup(t, own, "")
	session := filepath.Join(top, "user", "gc-x", "s1")
	if err := os.MkdirAll(session, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"memory.max", "pids.max"} {
		if err := os.WriteFile(filepath.Join(session, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := api.Limits{MemoryBytes: 1 << 20, PIDs: 7, CPUs: 1.5, OpenFiles: 99}
	// These are plain files: writing "+memory" has no effect.
	if err := os.Chmod(filepath.Join(own, "cgroup.subtree_control"), 0o444); err != nil {
		t.Fatal(err)
	}
	g := makeCgroupBelow(filepath.Join(top, "user"), top, "gc-x", "s1", l)
	if g.dir != session || !g.holds(controlMemory) || !g.holds(controlPIDs) || g.holds(controlCPU) {
		t.Fatalf("%+v", g)
	}
	for f, want := range map[string]string{"memory.max": "1048576", "pids.max": "7"} {
		if b, err := os.ReadFile(filepath.Join(session, f)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", f, b, err)
		}
	}
	rs, infos := Plan(l, g)
	by := map[string]string{}
	for _, i := range infos {
		by[i.Limit] = i.By
	}
	if by["memory"] != api.ByCgroup || by["pids"] != api.ByCgroup || by["cpu"] != api.ByNobody || by["openFiles"] != api.ByRlimit || len(rs) != 1 {
		t.Fatalf("%v, %v", infos, rs)
	}
	_, infos = Plan(l, &Cgroup{Reason: "not this user's"})
	for _, i := range infos {
		if i.By == api.ByCgroup || i.Limit != "openFiles" && !strings.Contains(i.Detail, "not this user's") {
			t.Errorf("%+v", i)
		}
	}
}

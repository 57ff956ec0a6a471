package server

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// earlyVar makes the test binary a program that reports its status first of all; it names a
// file that it makes before.
const earlyVar = "GC_TEST_EARLY"

func reportEarly(path string) int {
	paths, err := api.DefaultPaths(os.Getenv)
	if err == nil {
		err = os.WriteFile(path, nil, 0o600)
	}
	if err == nil {
		_, err = client.ReportOnce(paths, api.ReportRequest{State: "working"}, 20*time.Second)
	}
	fmt.Printf("reported: %v\n", err)
	select {}
}

// enterLate delays the entry of a session in a server whose state directory names, in the
// file late, what its program makes before it reports: the report then arrives first.
func enterLate(argv []string) {
	if len(argv) < 3 {
		return
	}
	path, err := os.ReadFile(filepath.Join(argv[2], "late"))
	if err != nil {
		return
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(string(path)); err == nil {
			break
		}
		<-tick.C
	}
	time.Sleep(200 * time.Millisecond) // the fault: the program has this much of a start
}

// TestReportsBeforeItIsEntered: what a program reports in its first instant counts, also
// before the server knows of its session.
func TestReportsBeforeItIsEntered(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	c := startServerAt(t, p)
	made := filepath.Join(t.TempDir(), "made")
	if err := os.WriteFile(filepath.Join(p.Dir, "late"), []byte(made), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := append([]string{earlyVar + "=" + made, "GC_MUX_SOCKET=" + p.Socket}, testEnv...)
	if _, err := c.Create(t.Context(), api.CreateRequest{Name: "a", Argv: []string{exe}, Env: env}); err != nil {
		t.Fatal(err)
	}
	await(t, c, "a", "^reported: <nil>")
	if a := doingNow(t, c, "a"); a.State != api.ActivityWorking {
		t.Errorf("%+v", a)
	}
}

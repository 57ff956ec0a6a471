package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keeper"
)

// TestMain turns the test binary into a daemon if it was started as one, so that tests
// run real keepers and servers.
func TestMain(m *testing.M) {
	if keeper.IsDaemon(os.Args) {
		commandFault = dieAt(os.Args)
		feedFault = panicAt
		enterFault = func() { enterLate(os.Args) }
		testenv.Exit(runDaemon(os.Args))
	}
	if mode := os.Getenv(receiverVar); mode != "" {
		testenv.Exit(runReceiver(mode))
	}
	if what := os.Getenv(hostileVar); what != "" {
		testenv.Exit(runHostile(what))
	}
	if mode := os.Getenv(menuVar); mode != "" {
		testenv.Exit(runMenu(mode))
	}
	if path := os.Getenv(earlyVar); path != "" {
		testenv.Exit(reportEarly(path))
	}
	if os.Getenv(controlHostVar) != "" {
		testenv.Exit(runControlHost())
	}
	if socket := os.Getenv("GC_TEST_DIAL"); socket != "" {
		os.Exit(dialForTest(socket))
	}
	testenv.SideBySide(3) // they mostly wait for programs
	goleak.VerifyTestMain(m)
}

// runDaemon does what mux.RunDaemon does, which a test of this package cannot import.
func runDaemon(argv []string) int {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", argv[0], "pid", os.Getpid()))
	switch argv[0] {
	case keeper.Name:
		return keeper.Run(argv[2:])
	case keeper.ServerName:
		return Run(argv[2:])
	}
	return keeper.RunSpawn(argv[2:])
}

// testPaths returns a state directory of the test's own with a short path.
func testPaths(t testing.TB) api.Paths {
	t.Helper()
	dir, err := os.MkdirTemp("", "mux")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	p, err := api.DefaultPaths(func(k string) string { return map[string]string{"GC_MUX_SOCKET": sock}[k] })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startServer starts a keeper and a server and ends them with the test.
func startServer(t testing.TB) *client.Client {
	t.Helper()
	return startServerAt(t, testPaths(t))
}

func startServerAt(t testing.TB, p api.Paths) *client.Client {
	t.Helper()
	c, err := client.Ensure(t.Context(), p, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		c.Close()
		c, err := client.Dial(ctx, p)
		if err != nil {
			return
		}
		defer c.Close()
		if err := c.Shutdown(ctx, true); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if t.Failed() {
			log, _ := os.ReadFile(p.Log())
			t.Logf("log:\n%s", log)
		}
	})
	return c
}

var testEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "PS1=$ ", "SHELL=/bin/sh"}

// create starts a session.
func create(t testing.TB, c *client.Client, name, command string) api.SessionInfo {
	t.Helper()
	s, err := c.Create(t.Context(), api.CreateRequest{Name: name, Command: command, Env: testEnv})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// await waits until a line of the screen matches.
func await(t testing.TB, c *client.Client, name, pattern string) {
	t.Helper()
	r, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Text: pattern}}, Timeout: 10 * time.Second})
	if err != nil || r.Met != 0 {
		p, _ := c.Peek(t.Context(), api.PeekRequest{Name: name})
		t.Fatalf("wait for %q: %+v, %v; screen:\n%s", pattern, r, err, p.Text)
	}
}

// awaitExit waits for the session's end.
func awaitExit(t testing.TB, c *client.Client, name string) api.Exit {
	t.Helper()
	r, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Exit: true}}, Timeout: 10 * time.Second})
	if err != nil || r.Exit == nil {
		t.Fatalf("wait for the exit: %+v, %v", r, err)
	}
	return *r.Exit
}

// screenText returns what the session shows.
func screenText(t testing.TB, c *client.Client, name string) string {
	t.Helper()
	p, err := c.Peek(t.Context(), api.PeekRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return p.Text
}

// noneIsLeft fails if any process of a session is alive.
func noneIsLeft(t testing.TB, s api.SessionInfo) {
	t.Helper()
	left, err := proctree.Members(0, s.PID, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range left {
		if p.Alive() {
			t.Errorf("%s: %d (%s) is left", s.Name, p.PID, p.Comm)
		}
	}
}

// retry repeats a request until a server answers: the last one may have been killed or
// replaced.
func retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, api.ErrUnreachable) {
			return err
		}
		if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

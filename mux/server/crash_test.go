package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// killServer kills the server and returns when the keeper has started another.
func killServer(t testing.TB, c *client.Client) {
	t.Helper()
	var before api.ServerStatus
	var err error
	// a server that is handing over may cut the first request off
	if err = retry(t.Context(), func() error { before, err = c.Status(t.Context()); return err }); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(before.Server.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitSuccessor(t, c, before.Server.PID)
}

// awaitSuccessor waits until another server than that of the pid answers.
func awaitSuccessor(t testing.TB, c *client.Client, pid int) {
	t.Helper()
	for {
		after, err := c.Status(t.Context())
		if err == nil && after.Server.PID != pid {
			return
		}
		if err != nil && !errors.Is(err, api.ErrUnreachable) {
			t.Fatal(err)
		}
	}
}

func TestSessionsSurviveTheServer(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s := create(t, c, "live", "exec cat")
	create(t, c, "gone", "exit 3")
	awaitExit(t, c, "gone")
	if err := c.SetMeta(t.Context(), "live", "k", "v\x00\xff"); err != nil {
		t.Fatal(err)
	}
	killServer(t, c)
	after, err := c.Get(t.Context(), "live")
	if err != nil || after.ID != s.ID || after.PID != s.PID || after.State != api.StateRunning {
		t.Fatalf("after the crash: %+v, %v", after, err)
	}
	if v, err := c.GetMeta(t.Context(), "live", "k"); err != nil || v != "v\x00\xff" {
		t.Fatalf("metadata %q, %v", v, err)
	}
	if x := awaitExit(t, c, "gone"); x.Code != 3 || x.Reason != api.ReasonExited {
		t.Fatalf("exit %+v", x)
	}
	if r, err := c.Nudge(t.Context(), "live", api.NudgeRequest{Text: "still here"}); err != nil || r.State != api.Submitted {
		t.Fatalf("nudge %+v, %v", r, err)
	}
	await(t, c, "live", "still here")
}

func TestExitDuringACrashIsKept(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	gate := t.TempDir() + "/gate"
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, c, "x", "read line < "+gate+"; kill -TERM $$")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(st.Server.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(w, "go")
	w.Close()
	for {
		r, err := c.Wait(t.Context(), "x", api.WaitRequest{Conditions: []api.Condition{{Exit: true}}})
		if errors.Is(err, api.ErrUnreachable) {
			continue
		}
		if err != nil || r.Exit == nil || r.Exit.Signal != "SIGTERM" || r.Exit.Code != 143 {
			t.Fatalf("exit %+v, %v", r.Exit, err)
		}
		return
	}
}

func TestStartersRace(t *testing.T) {
	p := testPaths(t)
	var wg sync.WaitGroup
	pids := make([]int, 6)
	for i := range pids {
		wg.Go(func() {
			c, err := client.Ensure(t.Context(), p, "test")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			st, err := c.Status(t.Context())
			if err != nil {
				t.Error(err)
			}
			pids[i] = st.Server.PID
		})
	}
	wg.Wait()
	startServerAt(t, p)
	for _, pid := range pids {
		if pid != pids[0] {
			t.Fatalf("servers %v", pids)
		}
	}
}

func TestDialWithoutAServer(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	if _, err := client.Dial(t.Context(), p); !errors.Is(err, api.ErrNoServer) {
		t.Fatalf("no state directory: %v", err)
	}
	c := startServerAt(t, p)
	if err := c.Shutdown(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the socket is left: %v", err)
	}
	if _, err := client.Dial(t.Context(), p); !errors.Is(err, api.ErrNoServer) {
		t.Fatalf("after shutdown: %v", err)
	}
	// A dead server's socket is replaced.
	l, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if _, err := client.Dial(t.Context(), p); !errors.Is(err, api.ErrNoServer) {
		t.Fatalf("a socket without a listener: %v", err)
	}
	startServerAt(t, p)
}

func TestUnlinkedSocketIsMadeAgain(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	c := startServerAt(t, p)
	if err := os.Remove(p.Socket); err != nil {
		t.Fatal(err)
	}
	again, err := client.Dial(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	a, _ := c.Status(t.Context())
	b, err := again.Status(t.Context())
	if err != nil || a.Server.PID != b.Server.PID {
		t.Fatalf("%+v, %+v, %v", a, b, err)
	}
}

func TestLongSocketPath(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	dir := p.Socket + strings.Repeat("/long-directory-name", 8)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p = api.Paths{Dir: dir + "/s.d", Socket: dir + "/s"}
	c := startServerAt(t, p)
	create(t, c, "a", "echo deep; exec cat")
	await(t, c, "a", "deep")
}

func TestStateDirThatCannotBeUsed(t *testing.T) {
	p := testPaths(t)
	if err := os.WriteFile(p.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Ensure(t.Context(), p, "test"); !errors.Is(err, api.ErrStateDir) {
		t.Fatalf("a file in its place: %v", err)
	}
	below := api.Paths{Dir: p.Dir + "/s.d", Socket: p.Dir + "/s"}
	if _, err := client.Dial(t.Context(), below); !errors.Is(err, api.ErrNoServer) {
		t.Fatalf("dial below a file: %v", err)
	}
	if _, err := client.Ensure(t.Context(), below, "test"); !errors.Is(err, api.ErrStateDir) {
		t.Fatalf("start below a file: %v", err)
	}
}

func TestShutdownRefusesWithSessions(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", "exec cat")
	if err := c.Shutdown(t.Context(), false); !errors.Is(err, api.ErrBusy) {
		t.Fatal(err)
	}
}

func TestServerEndsWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	p := testPaths(t)
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Dir+"/timing", []byte("1s 50ms 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.Ensure(t.Context(), p, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	create(t, c, "a", "exit 0")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, pid := range []int{st.Server.PID, st.Keeper.PID} {
		if err := sys.WaitProcess(t.Context(), pid); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Dial(t.Context(), p); !errors.Is(err, api.ErrNoServer) {
		t.Fatal(err)
	}
}

func TestKillEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	// One child ignores TERM, one left the group, one was reparented.
	s := create(t, c, "tree", `(trap '' TERM; sleep 1000) & setsid sleep 1000 & (setsid sleep 1000 & ); echo ready; exec cat`)
	await(t, c, "tree", "ready")
	ps, err := c.Processes(t.Context(), "tree")
	if err != nil || len(ps) < 4 {
		t.Fatalf("processes %+v, %v", ps, err)
	}
	alive, err := c.ProcessAlive(t.Context(), "tree", []string{"sleep"})
	if err != nil || !alive {
		t.Fatalf("alive %v, %v", alive, err)
	}
	began := time.Now()
	if err := c.Kill(t.Context(), "tree", 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("kill took %v", d)
	}
	noneIsLeft(t, s)
}

func TestSessionsSurviveTheKeeper(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "live", "exec cat")
	create(t, c, "ends", "read line; exit 5")
	create(t, c, "done", "exit 4")
	awaitExit(t, c, "done")
	before, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(before.Keeper.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var after api.ServerStatus
	for after.Keeper.PID == 0 || after.Keeper.PID == before.Keeper.PID {
		if after, err = c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after.Server.PID != before.Server.PID {
		t.Fatalf("the server did not survive: %+v, %+v", before, after)
	}
	if err := c.Keys(t.Context(), "ends", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if x := awaitExit(t, c, "ends"); x.Code != 5 && x.Reason != api.ReasonUnknown {
		t.Errorf("exit %+v", x)
	}
	create(t, c, "new", "exec cat")
	killServer(t, c)
	for _, name := range []string{"live", "new"} {
		if r, err := c.Nudge(t.Context(), name, api.NudgeRequest{Text: "after all that"}); err != nil || r.State != api.Submitted {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if x := awaitExit(t, c, "done"); x.Code != 4 {
		t.Errorf("exit %+v", x)
	}
	if x := awaitExit(t, c, "ends"); x.Code != 5 && x.Reason != api.ReasonUnknown {
		t.Errorf("exit after the second crash: %+v", x)
	}
	if err := c.Keys(t.Context(), "live", []string{"C-d"}, false); err != nil {
		t.Fatal(err)
	}
	if x := awaitExit(t, c, "live"); x.Code != 0 && x.Reason != api.ReasonUnknown {
		t.Errorf("exit %+v", x)
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "live", "exec cat")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Upgrade(t.Context(), exe, "newer"); err != nil {
		t.Fatal(err)
	}
	st, err := c.Status(t.Context())
	if err != nil || st.Version != "newer" || st.Sessions != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	// one that ends at once is forgotten
	if err := c.Upgrade(t.Context(), "/bin/true", "broken"); !errors.Is(err, api.ErrUpgrade) {
		t.Fatal(err)
	}
	st, err = c.Status(t.Context())
	if err != nil || st.Version != "newer" || st.Sessions != 1 {
		t.Fatalf("after a failed one: %+v, %v", st, err)
	}
	if err := c.Upgrade(t.Context(), "/no/such/binary", "none"); !errors.Is(err, api.ErrRequest) {
		t.Fatal(err)
	}
	if r, err := c.Nudge(t.Context(), "live", api.NudgeRequest{Text: "still here"}); err != nil || r.State != api.Submitted {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestKillOfAnInteractiveShellIsQuick(t *testing.T) {
	c := startServer(t)
	_, err := c.Create(t.Context(), api.CreateRequest{Name: "sh", Argv: []string{"bash", "--norc", "-i"}, Env: testEnv})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "sh", `\$`)
	began := time.Now()
	if err := c.Kill(t.Context(), "sh", time.Minute); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestKillHangsUpAgain: a shell that received HUP just before it began to wait for a key
// acts only on the next one.
func TestKillHangsUpAgain(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "deaf", `trap '' TERM; trap 'trap "exit 7" HUP' HUP; echo ready; while :; do read key; done`)
	await(t, c, "deaf", "ready")
	began := time.Now()
	if err := c.Kill(t.Context(), "deaf", time.Minute); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestKillEndsTheRestOfAnEndedSession: no process that left the session outlives the
// removal, although the program ended just before.
func TestKillEndsTheRestOfAnEndedSession(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for i := range 5 {
		name := fmt.Sprint("short", i)
		s := create(t, c, name, `trap '' HUP; setsid sh -c 'trap "" HUP; echo up; sleep 1000; exit' & read line; exit 0`)
		await(t, c, name, "^up$")
		if err := c.Keys(t.Context(), name, []string{"Enter"}, false); err != nil {
			t.Fatal(err)
		}
		awaitExit(t, c, name)
		if err := c.Kill(t.Context(), s.ID, time.Second); err != nil {
			t.Fatal(err)
		}
		noneIsLeft(t, s)
	}
}

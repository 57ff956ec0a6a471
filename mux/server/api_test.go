package server

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keys"
)

func TestBadRequests(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "taken", "exec cat")
	umask := 0o077
	for _, tc := range []struct {
		name string
		req  api.CreateRequest
		want error
	}{
		{"path separator", api.CreateRequest{Name: "a/b"}, api.ErrBadName},
		{"control character", api.CreateRequest{Name: "a\x07"}, api.ErrBadName},
		{"dot", api.CreateRequest{Name: "..", Umask: &umask}, api.ErrBadName},
		{"too long", api.CreateRequest{Name: strings.Repeat("n", 201)}, api.ErrBadName},
		{"duplicate", api.CreateRequest{Name: "taken"}, api.ErrExists},
		{"work dir missing", api.CreateRequest{Name: "a", WorkDir: "/no/such/dir"}, api.ErrWorkDir},
		{"work dir a file", api.CreateRequest{Name: "a", WorkDir: "/etc/passwd"}, api.ErrWorkDir},
		{"work dir relative", api.CreateRequest{Name: "a", WorkDir: "tmp"}, api.ErrWorkDir},
		{"size", api.CreateRequest{Name: "a", Cols: 1, Rows: 24}, api.ErrSize},
		{"NUL", api.CreateRequest{Name: "a", Command: "echo \x00"}, api.ErrRequest},
		{"both commands", api.CreateRequest{Name: "a", Command: "ls", Argv: []string{"ls"}}, api.ErrRequest},
	} {
		if _, err := c.Create(t.Context(), tc.req); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if err := c.Keys(t.Context(), "taken", []string{"a", "Entr"}, false); !errors.Is(err, keys.ErrUnknown) {
		t.Errorf("unknown key: %v", err)
	}
	if _, err := c.Nudge(t.Context(), "taken", api.NudgeRequest{Text: strings.Repeat("x", 10<<20)}); !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("10 MB nudge: %v", err)
	}
	if err := c.Paste(t.Context(), "taken", make([]byte, 30<<20)); !errors.Is(err, api.ErrTooLarge) && !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("30 MB paste: %v", err)
	}
	if _, err := c.Wait(t.Context(), "taken", api.WaitRequest{Conditions: []api.Condition{{Text: "("}}}); !errors.Is(err, api.ErrRequest) {
		t.Errorf("bad pattern: %v", err)
	}
	if _, err := c.Peek(t.Context(), api.PeekRequest{Name: "nobody"}); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("peek of nobody: %v", err)
	}
	if l, err := c.List(t.Context(), "", true); err != nil || len(l) != 1 {
		t.Errorf("left behind: %+v, %v", l, err)
	}
}

func TestHalfRequestsAndClientsThatVanish(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", "exec cat")
	for _, text := range []string{"", "GET", "POST /v1/sessions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{", "\x00\xff\xfe\r\n\r\n"} {
		conn, err := net.Dial("unix", c.Paths().Socket)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, text)
		conn.Close()
	}
	if _, err := c.Get(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
}

func TestCreateOfOneNameHasOneWinner(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	var mu sync.Mutex
	won := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := c.Create(t.Context(), api.CreateRequest{Name: "one", Argv: []string{"cat"}, Env: testEnv})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, api.ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Fatalf("%d winners", won)
	}
}

func TestEnvironmentAndUmaskAreTheCallers(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	umask := 0o027
	dir := t.TempDir()
	_, err := c.Create(t.Context(), api.CreateRequest{
		Name: "e", Command: `env | sort; umask; pwd; exec cat`, WorkDir: dir, Umask: &umask,
		Env: append([]string{"X=a b\xff", "GC_SESSION_ID=theirs", "TERM=dumb"}, testEnv...),
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "e", "^"+dir+"$")
	s, _ := c.Get(t.Context(), "e")
	got := screenText(t, c, "e")
	for _, want := range []string{"TERM=xterm-256color", "COLORTERM=truecolor", "GC_SESSION_ID=" + s.ID, "X=a b", "\n0027\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "MUX_TEST") || strings.Contains(got, "theirs") {
		t.Errorf("something leaked in:\n%s", got)
	}
}

func TestArgvThatIsNotFound(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for argv0, code := range map[string]int{"gc-no-such-program": 127, "/etc/passwd": 126, "/": 126} {
		if _, err := c.Create(t.Context(), api.CreateRequest{Name: "n", Argv: []string{argv0}, Env: testEnv}); err != nil {
			t.Fatal(err)
		}
		if x := awaitExit(t, c, "n"); x.Code != code || x.Reason != api.ReasonNotFound {
			t.Errorf("%s: %+v", argv0, x)
		}
		if got := screenText(t, c, "n"); !strings.Contains(got, argv0) {
			t.Errorf("%s: screen %q", argv0, got)
		}
	}
}

func TestLimitsHold(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, err := c.Create(t.Context(), api.CreateRequest{
		Name: "l", Command: "ulimit -n; ulimit -d; exec cat", Env: testEnv,
		Limits: api.Limits{OpenFiles: 77, MemoryBytes: 512 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "l", "^524288$")
	if got := screenText(t, c, "l"); got != "77\n524288" {
		t.Fatal(got)
	}
}

func TestMetadataBelongsToTheIncarnation(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx := t.Context()
	_, err := c.Create(ctx, api.CreateRequest{Name: "m", Command: "exec cat", Env: testEnv, Meta: map[string]string{"a": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetMeta(ctx, "m", "b", "\x00\xff"); err != nil {
		t.Fatal(err)
	}
	if m, err := c.Meta(ctx, "m"); err != nil || !maps.Equal(m, map[string]string{"a": "1", "b": "\x00\xff"}) {
		t.Fatalf("%v, %v", m, err)
	}
	if err := c.RemoveMeta(ctx, "m", "a"); err != nil {
		t.Fatal(err)
	}
	if v, err := c.GetMeta(ctx, "m", "a"); v != "" || err != nil {
		t.Fatalf("%q, %v", v, err)
	}
	if err := c.Kill(ctx, "m", time.Second); err != nil {
		t.Fatal(err)
	}
	create(t, c, "m", "exec cat")
	if m, err := c.Meta(ctx, "m"); err != nil || len(m) != 0 {
		t.Fatalf("it reached the next start: %v, %v", m, err)
	}
}

func TestEventsAreInOrderAndCanBeResumed(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ev, err := c.Events(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	create(t, c, "e", `printf '\033]2;hi\007\007'; exit 5`)
	var kinds []string
	first := ""
	for len(kinds) == 0 || kinds[len(kinds)-1] != api.EventExited {
		e, err := ev.Next()
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = e.ID
		}
		kinds = append(kinds, e.Type)
		if e.Type == api.EventExited && (e.Exit == nil || e.Exit.Code != 5) {
			t.Errorf("exit %+v", e.Exit)
		}
		if e.Type == api.EventTitle && e.Title != "hi" {
			t.Errorf("title %q", e.Title)
		}
	}
	if got := strings.Join(kinds, " "); got != "session.started session.title session.bell session.exited" {
		t.Fatal(got)
	}
	again, err := c.Events(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if e, err := again.Next(); err != nil || e.Type != api.EventTitle {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := c.Events(t.Context(), "other:1"); !errors.Is(err, api.ErrTooOld) {
		t.Fatalf("another epoch: %v", err)
	}
}

func TestWaitConditions(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "w", `while read -r line; do eval "$line"; done`)
	for _, tc := range []struct {
		condition api.Condition
		trigger   string
	}{
		{api.Condition{Text: "^nee+dle$"}, "echo needle"},
		{api.Condition{Title: "^done"}, `printf '\033]2;done it\007'`},
		{api.Condition{Bell: true}, `printf '\a'`},
		{api.Condition{Prompt: true}, `printf '\033]133;A\007'`},
		{api.Condition{Quiet: 30 * time.Millisecond}, "echo x"},
		{api.Condition{Exit: true}, "exit 9"},
	} {
		done := make(chan api.WaitResult, 1)
		go func() {
			r, err := c.Wait(t.Context(), "w", api.WaitRequest{Conditions: []api.Condition{{Text: "never"}, tc.condition}, Timeout: 10 * time.Second})
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		if tc.condition.Bell { // counts only from the beginning of the wait
			for met := false; !met; {
				if err := c.Keys(t.Context(), "w", []string{tc.trigger, "\r"}, true); err != nil {
					t.Fatal(err)
				}
				select {
				case r := <-done:
					met = true
					done <- r
				case <-time.After(20 * time.Millisecond):
				}
			}
		} else if err := c.Keys(t.Context(), "w", []string{tc.trigger, "\r"}, true); err != nil {
			t.Fatal(err)
		}
		if r := <-done; r.Met != 1 {
			t.Errorf("%+v: %+v", tc.condition, r)
		}
	}
	create(t, c, "w2", "exec cat")
	r, err := c.Wait(t.Context(), "w2", api.WaitRequest{Conditions: []api.Condition{{Text: "never"}}, Timeout: 10 * time.Millisecond})
	if err != nil || !r.TimedOut || r.Met != -1 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestPeekManyAndUnchanged(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "p1", "echo one; exec cat")
	create(t, c, "p2", "echo two; exec cat")
	await(t, c, "p1", "one")
	await(t, c, "p2", "two")
	rs, err := c.PeekMany(t.Context(), []api.PeekRequest{{Name: "p1"}, {Name: "nobody"}, {Name: "p2", Format: api.FormatJSON}})
	if err != nil || len(rs) != 3 {
		t.Fatal(rs, err)
	}
	if rs[0].Text != "one" || !errors.Is(rs[1].Error, api.ErrNotFound) || rs[2].Screen == nil {
		t.Fatalf("%+v", rs)
	}
	r, err := c.Peek(t.Context(), api.PeekRequest{Name: "p1", IfRevision: rs[0].Revision})
	if err != nil || !r.Unchanged || r.Text != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := c.Keys(t.Context(), "p1", []string{"x"}, true); err != nil {
		t.Fatal(err)
	}
	await(t, c, "p1", "^x$")
	r, err = c.Peek(t.Context(), api.PeekRequest{Name: "p1", IfRevision: rs[0].Revision})
	if err != nil || r.Unchanged || r.Text != "one\nx" {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestOutputOfAClosingProgramIsComplete(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	f := t.TempDir() + "/big"
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if err := os.WriteFile(f, []byte(want.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, c, "big", "exec cat "+f)
	awaitExit(t, c, "big")
	if got := screenText(t, c, "big") + "\n"; got != want.String() {
		t.Fatalf("%d bytes of %d", len(got), want.Len())
	}
}

func TestInterruptAndSignal(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "i", `trap 'echo INT' INT; trap 'echo USR1' USR1; echo ready; while :; do sleep 0.01; done`)
	await(t, c, "i", "ready")
	if err := c.Interrupt(t.Context(), "i"); err != nil {
		t.Fatal(err)
	}
	await(t, c, "i", "INT")
	if err := c.Signal(t.Context(), "i", "usr1"); err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(t.Context(), "i", api.WaitRequest{Conditions: []api.Condition{{Text: "USR1"}, {Exit: true}}, Timeout: 10 * time.Second})
	if err != nil || r.TimedOut {
		t.Fatal(r, err)
	}
	if err := c.Signal(t.Context(), "i", "nonsense"); !errors.Is(err, api.ErrRequest) {
		t.Fatal(err)
	}
}

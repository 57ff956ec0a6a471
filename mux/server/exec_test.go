package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keeper"
)

// run starts a command and returns its first answer.
func run(t testing.TB, c *client.Client, r api.ExecRequest) api.ExecResult {
	t.Helper()
	if r.Env == nil {
		r.Env = testEnv
	}
	res, err := c.Exec(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// awaitCommand waits for a command's end.
func awaitCommand(t testing.TB, c *client.Client, id, caller string) api.ExecResult {
	t.Helper()
	res, err := c.ProcessWait(t.Context(), id, caller, 20*time.Second)
	if err != nil || !res.Status.Ended() {
		t.Fatalf("wait for %s: %+v, %v", id, res, err)
	}
	return res
}

func code(r api.ExecResult) int {
	if r.ExitCode == nil {
		return -99
	}
	return *r.ExitCode
}

// TestExecForeground: statuses, codes and output, on pipes and on a terminal.
func TestExecForeground(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for _, pty := range []bool{false, true} {
		for _, tt := range []struct {
			command string
			status  process.Status
			code    int
			output  string
		}{
			{"true", process.Completed, 0, ""},
			{"echo out; echo err >&2; exit 3", process.Failed, 3, "out\nerr\n"},
			{"kill -KILL $$", process.Killed, 137, ""},
			{"kill -SEGV $$", process.Failed, 139, ""},
			{"no-such-program-here", process.Failed, 127, ""},
			{`printf 'a\000b\377\n'`, process.Completed, 0, "a\x00b\uFFFD\n"},
		} {
			r := run(t, c, api.ExecRequest{Command: tt.command, PTY: pty})
			got := strings.ReplaceAll(r.Output, "\r\n", "\n")
			if r.Status != tt.status || code(r) != tt.code || tt.output != "" && got != tt.output || r.EventID != r.ID+"/exit" {
				t.Errorf("pty=%t %q: %+v", pty, tt.command, r)
			}
		}
	}
	r := run(t, c, api.ExecRequest{Argv: []string{"sh", "-c", `printf '%s|' "$0" "$@"`, "a b", "c'd"}})
	if r.Output != "a b|c'd|" {
		t.Errorf("argv: %q", r.Output)
	}
	wd := t.TempDir()
	if r := run(t, c, api.ExecRequest{Command: "pwd; echo $X", WorkDir: wd, Env: append([]string{"X=y"}, testEnv...)}); r.Output != wd+"\ny\n" {
		t.Errorf("cwd and env: %q", r.Output)
	}
	_, err := c.Exec(t.Context(), api.ExecRequest{Command: "true", WorkDir: "/no/such/place", Env: testEnv})
	if !errors.Is(err, api.ErrWorkDir) {
		t.Errorf("a missing work dir: %v", err)
	}
	for _, bad := range []api.ExecRequest{{}, {Command: "a", Argv: []string{"b"}}, {Command: "a", Notify: "maybe"}} {
		if _, err := c.Exec(t.Context(), bad); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	left, err := c.ProcessList(t.Context(), "", false)
	if err != nil || len(left) != 0 {
		t.Errorf("still listed: %+v, %v", left, err)
	}
}

// TestExecTimeouts: timeout, idle timeout and yield.
func TestExecTimeouts(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := run(t, c, api.ExecRequest{Command: "sleep 60 & trap '' TERM HUP; wait; exit 0", Timeout: api.Millis(200 * time.Millisecond)})
	if r.Status != process.TimedOut || r.Reason != process.IntentTimeout {
		t.Errorf("timeout: %+v", r)
	}
	r = run(t, c, api.ExecRequest{Command: "echo one; sleep 60", IdleTimeout: api.Millis(200 * time.Millisecond)})
	if r.Status != process.TimedOut || r.Reason != process.IntentIdle || r.Output != "one\n" {
		t.Errorf("idle timeout: %+v", r)
	}
	r = run(t, c, api.ExecRequest{Command: "echo one; read x; echo got $x", Yield: api.Millis(300 * time.Millisecond), Timeout: api.Millis(500 * time.Millisecond)})
	if r.Status != process.Running || !r.Background || r.Output != "one\n" {
		t.Fatalf("yield: %+v", r)
	}
	if w, err := c.ProcessWait(t.Context(), r.ID, "", 700*time.Millisecond); err != nil || w.Status != process.Running {
		t.Errorf("the foreground's timeout did not lapse: %+v, %v", w, err)
	}
	if err := c.ProcessWrite(t.Context(), r.ID, api.WriteRequest{Data: []byte("it"), Submit: true}); err != nil {
		t.Fatal(err)
	}
	if r = awaitCommand(t, c, r.ID, ""); r.Status != process.Completed || !strings.Contains(r.Tail, "got it") {
		t.Errorf("after the yield: %+v", r)
	}
	if err := c.ProcessWrite(t.Context(), r.ID, api.WriteRequest{Data: []byte("x")}); !errors.Is(err, api.ErrExited) {
		t.Errorf("write after the end: %v", err)
	}
}

// TestExecInput: standard input through a pipe and a terminal, its end, keys,
// signals.
func TestExecInput(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := run(t, c, api.ExecRequest{Command: "cat; echo over", Stdin: []byte("hello\n"), EOF: true})
	if r.Output != "hello\nover\n" || r.Status != process.Completed {
		t.Errorf("cat: %+v", r)
	}
	big := bytes.Repeat([]byte("0123456789abcdef\n"), 100_000)
	r = run(t, c, api.ExecRequest{Command: "wc -c", Stdin: big, EOF: true})
	if strings.TrimSpace(r.Output) != fmt.Sprint(len(big)) {
		t.Errorf("wc: %q", r.Output)
	}
	// A program that never reads blocks no one.
	r = run(t, c, api.ExecRequest{Command: "sleep 0.3; echo slept", Stdin: big})
	if r.Output != "slept\n" {
		t.Errorf("never reads: %+v", r)
	}
	for _, pty := range []bool{false, true} {
		r = run(t, c, api.ExecRequest{Command: "echo go; read a; read b; echo =$a=$b=", PTY: pty, Background: true})
		if err := c.ProcessKeys(t.Context(), r.ID, []string{"x", "Enter"}, false); err != nil {
			t.Fatal(err)
		}
		if err := c.ProcessPaste(t.Context(), r.ID, []byte("pasted\n")); err != nil {
			t.Fatal(err)
		}
		if r = awaitCommand(t, c, r.ID, ""); !strings.Contains(r.Tail, "=x=pasted=") {
			t.Errorf("pty=%t keys: %+v", pty, r)
		}
		r = run(t, c, api.ExecRequest{Command: "trap 'echo usr; exit 4' USR1; echo go; while :; do sleep 0.05; done", PTY: pty, Background: true})
		pollUntil(t, c, r.ID, "go")
		if err := c.ProcessSignal(t.Context(), r.ID, "USR1"); err != nil {
			t.Fatal(err)
		}
		if r = awaitCommand(t, c, r.ID, ""); code(r) != 4 {
			t.Errorf("pty=%t signal: %+v", pty, r)
		}
	}
	r = run(t, c, api.ExecRequest{Command: "cat", PTY: true, Background: true})
	if err := c.ProcessWrite(t.Context(), r.ID, api.WriteRequest{EOF: true}); err != nil {
		t.Fatal(err)
	}
	if r = awaitCommand(t, c, r.ID, ""); r.Status != process.Completed {
		t.Errorf("end of a terminal's input: %+v", r)
	}
}

// pollUntil reads the output until it has a text.
func pollUntil(t testing.TB, c *client.Client, id, text string) string {
	t.Helper()
	all, cursor := "", uint64(0)
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
		r, err := c.ProcessPoll(t.Context(), id, api.PollRequest{Cursor: &cursor, Wait: api.Millis(2 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		all, cursor = all+r.Output, r.Cursor
		if strings.Contains(all, text) {
			return all
		}
		if r.Status.Ended() && !r.Truncated {
			break
		}
	}
	t.Fatalf("%q never came: %q", text, all)
	return ""
}

// TestExecPoll: output is consumed only when the next poll acknowledges it.
func TestExecPoll(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := run(t, c, api.ExecRequest{Command: "printf abc; read x; printf def", Background: true})
	pollUntil(t, c, r.ID, "abc")
	zero := uint64(0)
	for range 2 {
		p, err := c.ProcessPoll(t.Context(), r.ID, api.PollRequest{Cursor: &zero})
		if err != nil || p.Output != "abc" || p.Cursor != 3 {
			t.Fatalf("poll: %+v, %v", p, err)
		}
	}
	three := uint64(3)
	if err := c.ProcessWrite(t.Context(), r.ID, api.WriteRequest{Submit: true}); err != nil {
		t.Fatal(err)
	}
	p, err := c.ProcessPoll(t.Context(), r.ID, api.PollRequest{Cursor: &three, Wait: api.Millis(10 * time.Second)})
	if err != nil || p.Output != "def" {
		t.Fatalf("the rest: %+v, %v", p, err)
	}
	if p, err = c.ProcessPoll(t.Context(), r.ID, api.PollRequest{Wait: api.Millis(10 * time.Second)}); err != nil || p.Output != "def" {
		t.Fatalf("without a cursor: %+v, %v", p, err)
	}
	far := uint64(99)
	if _, err := c.ProcessPoll(t.Context(), r.ID, api.PollRequest{Cursor: &far}); !errors.Is(err, api.ErrRequest) {
		t.Errorf("a wrong cursor: %v", err)
	}
	if _, err := c.ProcessPoll(t.Context(), "nobody", api.PollRequest{}); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
}

// TestExecLog: a progress bar is one line, line numbers do not change, escapes
// are removed.
func TestExecLog(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := run(t, c, api.ExecRequest{Command: `printf 'one\n10%%\r50%%\r100%%\n\033[31mred\033[0m\nlast'`})
	l, err := c.ProcessLog(t.Context(), r.ID, api.LogRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range l.Lines {
		got = append(got, fmt.Sprintf("%d:%s", line.N, line.Text))
	}
	if want := "1:one 2:100% 3:red 4:last"; strings.Join(got, " ") != want || l.TotalLines != 4 || l.Next != 5 {
		t.Errorf("log %q, %+v", got, l)
	}
	l, err = c.ProcessLog(t.Context(), r.ID, api.LogRequest{Match: "^r", Format: api.FormatRaw})
	if err != nil || len(l.Lines) != 1 || string(l.Lines[0].Data) != "\x1b[31mred\x1b[0m" {
		t.Errorf("match: %+v, %v", l, err)
	}
	if l, err = c.ProcessLog(t.Context(), r.ID, api.LogRequest{Format: api.FormatScreen}); err != nil || l.Screen != "one\n100%\nred\nlast" {
		t.Errorf("screen: %q, %v", l.Screen, err)
	}
	for _, bad := range []api.LogRequest{{Match: "("}, {Format: "pdf"}} {
		if _, err := c.ProcessLog(t.Context(), r.ID, bad); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestExecChildOnThePipe: a child that keeps the output open delays nothing,
// and ends with the command.
func TestExecChildOnThePipe(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	began := time.Now()
	r := run(t, c, api.ExecRequest{Command: "sleep 300 & echo $!"})
	if r.Status != process.Completed || time.Since(began) > 5*time.Second {
		t.Fatalf("%+v after %s", r, time.Since(began))
	}
	pid := 0
	fmt.Sscan(r.Output, &pid)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := sys.WaitProcess(ctx, pid); err != nil {
		t.Fatalf("process %d is left: %v", pid, err)
	}
}

// TestExecKeys: the same key gives the same command, even in concurrent
// requests.
func TestExecKeys(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ids, dir := make(chan string, 8), t.TempDir()
	for range 8 {
		go func() {
			r, err := c.Exec(context.Background(), api.ExecRequest{Command: "echo x >> runs; sleep 0.2", Key: "k", Owner: "o", Background: true, WorkDir: dir, Env: testEnv})
			if err != nil {
				t.Error(err)
			}
			ids <- r.ID
		}()
	}
	first := <-ids
	for range 7 {
		if id := <-ids; id != first {
			t.Errorf("two commands of one key: %s %s", first, id)
		}
	}
	awaitCommand(t, c, first, "")
	if b, err := os.ReadFile(dir + "/runs"); err != nil || string(b) != "x\n" {
		t.Errorf("it ran %q, %v", b, err)
	}
	other := run(t, c, api.ExecRequest{Command: "true", Key: "k", Owner: "p"})
	if other.ID == first || other.Existed {
		t.Errorf("another owner's key: %+v", other)
	}
	all, err := c.ProcessList(t.Context(), "o", true)
	if err != nil || len(all) != 1 {
		t.Errorf("commands of the owner: %+v, %v", all, err)
	}
}

// TestExecLimit: an owner has 64 commands at most.
func TestExecLimit(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for range process.MaxRunning {
		run(t, c, api.ExecRequest{Argv: []string{"sleep", "60"}, Owner: "o", Background: true})
	}
	_, err := c.Exec(t.Context(), api.ExecRequest{Argv: []string{"true"}, Owner: "o", Env: testEnv})
	if !errors.Is(err, api.ErrLimit) {
		t.Errorf("one more: %v", err)
	}
	if r := run(t, c, api.ExecRequest{Argv: []string{"true"}, Owner: "p"}); r.Status != process.Completed {
		t.Errorf("another owner: %+v", r)
	}
}

// TestExecKillAndRemove: kill ends the tree, remove deletes the record.
func TestExecKillAndRemove(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := run(t, c, api.ExecRequest{Command: "trap '' TERM HUP; sleep 60 & echo go; wait; wait; sleep 60", Background: true})
	pollUntil(t, c, r.ID, "go")
	if err := c.ProcessRemove(t.Context(), r.ID, false); !errors.Is(err, api.ErrBusy) {
		t.Errorf("remove a running one: %v", err)
	}
	k, err := c.ProcessKill(t.Context(), r.ID, "", 50*time.Millisecond)
	if err != nil || k.Status != process.Killed || k.Reason != process.IntentKill {
		t.Errorf("kill: %+v, %v", k, err)
	}
	if k, err = c.ProcessKill(t.Context(), r.ID, "", time.Second); err != nil || k.Status != process.Killed {
		t.Errorf("kill again: %+v, %v", k, err)
	}
	if err := c.ProcessRemove(t.Context(), r.ID, false); err != nil {
		t.Error(err)
	}
	if _, err := c.Process(t.Context(), r.ID); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("after remove: %v", err)
	}
	if _, err := os.Stat(c.Paths().Dir + "/processes/" + r.ID); !os.IsNotExist(err) {
		t.Errorf("its output: %v", err)
	}
}

// TestExecIsASession: peek, wait and list work on a command.
func TestExecIsASession(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	r := run(t, c, api.ExecRequest{Command: "echo hello; echo world; read x", Background: true, Owner: "me"})
	await(t, c, r.ID, "^world$")
	s, err := c.Get(t.Context(), "exec-"+r.ID)
	if err != nil || s.Kind != api.KindExec || s.Owner != "me" || s.ID != r.ID {
		t.Errorf("session: %+v, %v", s, err)
	}
	if got := screenText(t, c, r.ID); got != "hello\nworld" {
		t.Errorf("screen: %q", got)
	}
	if err := c.Kill(t.Context(), r.ID, time.Second); err != nil {
		t.Fatal(err)
	}
	if r = awaitCommand(t, c, r.ID, ""); r.Status != process.Killed {
		t.Errorf("after its session was killed: %+v", r)
	}
}

// TestExecSurvivesTheServer: a kill of the server loses no command, byte, end
// or input.
func TestExecSurvivesTheServer(t *testing.T) {
	t.Parallel()
	for _, pty := range []bool{false, true} {
		c := startServer(t)
		r := run(t, c, api.ExecRequest{Command: "echo before; read x; echo got $x; read y; echo over $y; exit 5", PTY: pty, Background: true})
		pollUntil(t, c, r.ID, "before")
		killServer(t, c)
		if err := retry(t.Context(), func() error {
			return c.ProcessWrite(t.Context(), r.ID, api.WriteRequest{Data: []byte("one"), Submit: true})
		}); err != nil {
			t.Fatal(err)
		}
		pollUntil(t, c, r.ID, "got one")
		killServer(t, c)
		if err := retry(t.Context(), func() error {
			return c.ProcessWrite(t.Context(), r.ID, api.WriteRequest{Data: []byte("two"), Submit: true})
		}); err != nil {
			t.Fatal(err)
		}
		r = awaitCommand(t, c, r.ID, "")
		if r.Status != process.Failed || code(r) != 5 || !strings.Contains(r.Tail, "over two") {
			t.Errorf("pty=%t: %+v", pty, r)
		}
		killServer(t, c)
		if again := awaitCommand(t, c, r.ID, ""); again.Tail != r.Tail || code(again) != 5 {
			t.Errorf("pty=%t after another kill: %+v", pty, again)
		}
		l, err := c.ProcessLog(t.Context(), r.ID, api.LogRequest{Offset: 1, Limit: 1})
		if err != nil || len(l.Lines) != 1 || l.Lines[0].Text != "before" {
			t.Errorf("pty=%t log: %+v, %v", pty, l, err)
		}
	}
}

// TestExecLost: a command whose end was not observed is lost, which is also an
// event.
func TestExecLost(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "owner", "cat")
	r := run(t, c, api.ExecRequest{Command: "echo hi; sleep 300", Background: true, Owner: "owner"})
	pollUntil(t, c, r.ID, "hi")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	// A server that notices the end of its keeper starts another: stop it
	// first.
	if err := unix.Kill(st.Server.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{st.Keeper.PID, st.Server.PID, s.PID} {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	keeper.WaitPID(st.Keeper.PID)
	keeper.WaitPID(st.Server.PID)
	c = startServerAt(t, c.Paths())
	r = awaitCommand(t, c, r.ID, "")
	if r.Status != process.Lost || r.Reason == "" || code(r) != -1 {
		t.Errorf("%+v", r)
	}
	d, err := c.Deliveries(t.Context(), "owner", "")
	if err != nil || len(d) != 1 || d[0].State != process.Pending {
		t.Errorf("deliveries: %+v, %v", d, err)
	}
}

// TestExecEvents: events carry everything that is known.
func TestExecEvents(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	es, err := c.Events(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer es.Close()
	r := run(t, c, api.ExecRequest{Command: "echo bye; exit 2", Background: true, Owner: "me", CallID: "call-1", Notify: process.NotifyNever})
	var got []string
	for len(got) < 2 {
		e, err := es.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.Exec == nil {
			continue
		}
		b, _ := json.Marshal(e.Exec)
		if e.Exec.Session != r.ID || e.Exec.CallID != "call-1" || e.Exec.Owner != "me" {
			t.Errorf("event %s", b)
		}
		got = append(got, e.Type+" "+strings.TrimPrefix(e.Exec.ID, r.ID)+" "+e.Exec.Tail)
	}
	if want := "exec.started /start |exec.failed /exit bye"; strings.Join(got, "|") != want {
		t.Errorf("events %q", got)
	}
}

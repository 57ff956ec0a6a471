package mcp

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// serverVar turns the test binary into the server; its value is "control" or
// "read".
const serverVar = "MCP_TEST_SERVER"

// TestMain turns the test binary into the program started by a client, and into
// the session daemons.
func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	if mode := os.Getenv(serverVar); mode != "" {
		err := Serve(context.Background(), Options{
			Version: "test", Caller: os.Getenv("GC_SESSION_NAME"), City: os.Getenv("GC_CITY_PATH"), Outbox: os.Getenv(cityapi.EnvOutbox), Control: mode == "control",
			Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/"}, Dir: "/",
			Connect: func(ctx context.Context, start bool) (*client.Client, error) {
				paths, err := api.DefaultPaths(os.Getenv)
				if err != nil || !start {
					c, dialErr := client.Dial(ctx, paths)
					return c, dialErr
				}
				return client.Ensure(ctx, paths, "test")
			},
		})
		if err != nil {
			testenv.Exit(1)
		}
		testenv.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// world is a private mux, with clients of the protocol.
type world struct {
	t     *testing.T
	paths api.Paths
	mux   *client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	w := &world{t: t, paths: api.Paths{Dir: sock + ".d", Socket: sock}}
	if w.mux, err = client.Ensure(t.Context(), w.paths, "test"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := w.mux.Shutdown(ctx, true); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		w.mux.Close()
	})
	return w
}

// connect starts a server process and connects to its standard streams.
func (w *world) connect(caller, mode string, env ...string) *mcp.ClientSession {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{
		serverVar + "=" + mode, "GC_MUX_SOCKET=" + w.paths.Socket, "GC_SESSION_NAME=" + caller,
		"PATH=" + os.Getenv("PATH"), "HOME=/",
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(w.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	return s
}

// call calls a tool and returns its result, or the text of its error.
func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (out map[string]any, failed string) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err.Error()
	}
	text := ""
	for _, c := range r.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			text += tc.Text
		}
	}
	if r.IsError {
		return nil, text
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %q: %v", tool, text, err)
	}
	return out, ""
}

func must(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) map[string]any {
	t.Helper()
	out, failed := call(t, s, tool, args)
	if failed != "" {
		t.Fatalf("%s %v: %s", tool, args, failed)
	}
	return out
}

type args = map[string]any

// TestClientRunsABackgroundCommand: a client starts a command, polls it, writes
// to it and sees its end, over two connections.
func TestClientRunsABackgroundCommand(t *testing.T) {
	w := newWorld(t)
	s := w.connect("me", "read")
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.InputSchema == nil {
			t.Errorf("%s has no description or schema", tool.Name)
		}
	}
	if got := strings.Join(names, " "); got != "exec mail_ack mail_list mail_read mail_send process session_list session_peek session_respond session_send session_wait" {
		t.Errorf("tools: %s", got)
	}
	if r := must(t, s, "exec", args{"command": "echo fast; exit 3"}); r["status"] != "failed" || r["exitCode"] != 3.0 || r["output"] != "fast\n" {
		t.Errorf("a fast one: %v", r)
	}
	r := must(t, s, "exec", args{"command": "echo ready; read x; echo got $x $V; exit 4", "yieldMs": 250, "env": args{"V": "v"}})
	if r["status"] != "running" || r["owner"] != "me" {
		t.Fatalf("started: %v", r)
	}
	id := r["sessionId"].(string)
	p := must(t, s, "process", args{"action": "poll", "id": id, "cursor": 0, "waitMs": 5000})
	if p["output"] != "ready\n" {
		t.Errorf("poll: %v", p)
	}
	// The command outlives the connection.
	again := w.connect("me", "read")
	if r := must(t, again, "process", args{"action": "submit", "id": id, "data": "word"}); r["ok"] != true {
		t.Errorf("submit: %v", r)
	}
	end := must(t, again, "process", args{"action": "wait", "id": id, "timeoutMs": 20000})
	if end["status"] != "failed" || end["exitCode"] != 4.0 || !strings.Contains(end["tail"].(string), "got word v") {
		t.Errorf("the end: %v", end)
	}
	l := must(t, again, "process", args{"action": "log", "id": id, "match": "^got"})
	if lines := l["lines"].([]any); len(lines) != 1 || lines[0].(map[string]any)["n"] != 2.0 {
		t.Errorf("log: %v", l)
	}
	if d, err := w.mux.Process(t.Context(), id); err != nil || d.Delivery != "consumed" {
		t.Errorf("the owner saw the end, and its delivery is %q, %v", d.Delivery, err)
	}
	must(t, again, "process", args{"action": "clear", "id": id})
	if _, failed := call(t, again, "process", args{"action": "poll", "id": id}); !strings.Contains(failed, "not found") {
		t.Errorf("after clear: %s", failed)
	}
}

// TestOthersAreReadOnly: sessions of others can be changed only with control.
func TestOthersAreReadOnly(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if _, err := w.mux.Create(ctx, api.CreateRequest{Name: "other", Argv: []string{"cat"}, Env: []string{"PATH=" + os.Getenv("PATH")}}); err != nil {
		t.Fatal(err)
	}
	foreign, err := w.mux.Exec(ctx, api.ExecRequest{Argv: []string{"sleep", "60"}, Background: true, Owner: "other", Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	s := w.connect("me", "read")
	for tool, in := range map[string]args{
		"session_send":    {"name": "other", "text": "hi"},
		"session_respond": {"name": "other", "action": "Yes"},
		"process":         {"action": "kill", "id": foreign.ID},
	} {
		if _, failed := call(t, s, tool, in); !strings.Contains(failed, "without --control") {
			t.Errorf("%s on another's: %q", tool, failed)
		}
	}
	if r := must(t, s, "session_list", args{}); len(r["sessions"].([]any)) != 2 {
		t.Errorf("list: %v", r)
	}
	if r := must(t, s, "process", args{"action": "poll", "id": foreign.ID}); r["status"] != "running" {
		t.Errorf("poll of another's: %v", r)
	}
	c := w.connect("me", "control")
	if r := must(t, c, "session_send", args{"name": "other", "text": "hello there"}); r["state"] != api.Submitted {
		t.Errorf("send with control: %v", r)
	}
	if r := must(t, s, "session_wait", args{"name": "other", "until": "text", "text": "hello there"}); r["met"] != true {
		t.Errorf("wait: %v", r)
	}
	if _, err := w.mux.Create(ctx, api.CreateRequest{Name: "talker", Argv: []string{"sh", "-c", `trap 'echo stopped' INT; echo ready; while :; do read -r x && echo "got $x"; done`}, Env: []string{"PATH=" + os.Getenv("PATH")}}); err != nil {
		t.Fatal(err)
	}
	must(t, s, "session_wait", args{"name": "talker", "until": "text", "text": "^ready"})
	if r := must(t, c, "session_send", args{"name": "talker", "text": "another way", "interrupt": true}); r["state"] != api.Submitted || r["interrupted"] != api.InterruptUnverified {
		t.Errorf("send with an interrupt: %v", r)
	}
	if r := must(t, s, "session_peek", args{"name": "talker"}); !strings.Contains(r["text"].(string), "stopped") {
		t.Errorf("not interrupted: %v", r)
	}
	if r := must(t, s, "session_peek", args{"name": "other"}); !strings.Contains(r["text"].(string), "hello there") {
		t.Errorf("peek: %v", r)
	}
	if r := must(t, c, "process", args{"action": "kill", "id": foreign.ID}); r["status"] != "killed" {
		t.Errorf("kill with control: %v", r)
	}
}

// TestCallerWithoutAName: a caller without a session name can change what it
// started itself, but nothing else without an owner.
func TestCallerWithoutAName(t *testing.T) {
	w := newWorld(t)
	env := []string{"PATH=" + os.Getenv("PATH")}
	if _, err := w.mux.Create(t.Context(), api.CreateRequest{Name: "person", Argv: []string{"cat"}, Env: env}); err != nil {
		t.Fatal(err)
	}
	other, err := w.mux.Exec(t.Context(), api.ExecRequest{Argv: []string{"sleep", "60"}, Background: true, Key: "k", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	s := w.connect("", "read")
	again := must(t, s, "exec", args{"argv": []string{"sleep", "60"}, "background": true, "idempotencyKey": "k"})
	if again["sessionId"] != other.ID {
		t.Fatalf("the key answers with %v", again)
	}
	for tool, in := range map[string]args{
		"process":         {"action": "kill", "id": other.ID},
		"session_send":    {"name": "person", "text": "hi"},
		"session_respond": {"name": "person", "action": "Yes"},
	} {
		if _, failed := call(t, s, tool, in); !strings.Contains(failed, "without --control") {
			t.Errorf("%s: %q", tool, failed)
		}
	}
	if p, err := w.mux.Process(t.Context(), other.ID); err != nil || p.Status != "running" {
		t.Errorf("the other's command: %+v, %v", p, err)
	}
	mine := must(t, s, "exec", args{"argv": []string{"sleep", "60"}, "background": true})
	if r := must(t, s, "process", args{"action": "kill", "id": mine["sessionId"]}); r["status"] != "killed" {
		t.Errorf("kill of its own: %v", r)
	}
}

// TestBadCalls: an invalid call is an error of the tool, and the server
// continues.
func TestBadCalls(t *testing.T) {
	w := newWorld(t)
	s := w.connect("me", "read")
	for _, bad := range []struct {
		tool string
		in   args
	}{
		{"exec", args{}},
		{"exec", args{"command": "true", "argv": []string{"true"}}},
		{"exec", args{"command": "true", "notify": "sometimes"}},
		{"exec", args{"command": "true", "cwd": "/no/such/place"}},
		{"exec", args{"command": 7}},
		{"process", args{"action": "dance"}},
		{"process", args{"action": "poll"}},
		{"process", args{"action": "poll", "id": "nobody"}},
		{"session_peek", args{"name": "nobody"}},
		{"session_wait", args{"name": "nobody", "until": "text"}},
		{"no_such_tool", args{}},
	} {
		if out, failed := call(t, s, bad.tool, bad.in); failed == "" {
			t.Errorf("%s %v: %v", bad.tool, bad.in, out)
		}
	}
	if r := must(t, s, "exec", args{"command": "echo still here"}); r["output"] != "still here\n" {
		t.Errorf("afterwards: %v", r)
	}
}

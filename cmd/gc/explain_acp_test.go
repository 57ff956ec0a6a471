package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// speaking is a provider whose agents speak ACP.
type speaking struct{ *runtimefake.Fake }

func (speaking) Activity(context.Context, string) (runtime.Activity, error) {
	return runtime.Activity{
		State: runtime.ActivityIdle, Source: "acp", Evidence: "end_turn", Mode: "acceptEdits", Model: "big",
		Usage:    &runtime.Usage{Used: 1200, Size: 200000, Cost: 0.25, Currency: "USD"},
		LastTurn: &runtime.Turn{N: 1, StopReason: "end_turn", Duration: clock.Millis(3200 * time.Millisecond), Ended: time.Now()},
	}, nil
}

// speakingCity runs a command in a city with agents over ACP, one of which runs, and
// returns its output and errors; dir is the city's.
func speakingCity(t *testing.T) (run func(args ...string) (stdout, stderr string, status int), dir string) {
	t.Helper()
	dir = t.TempDir()
	for k, v := range map[string]string{"HOME": dir, "XDG_STATE_HOME": dir, "GC_MUX_SOCKET": filepath.Join(dir, "s"), "GC_SESSION": "", "DB_TOKEN": "hunter2"} {
		t.Setenv(k, v)
	}
	text := `[workspace]
name = "town"
[session]
provider = "acp"
[[mcp_servers]]
name = "db"
command = "db-mcp"
env = { TOKEN = "$DB_TOKEN" }
[[agents]]
name = "a"
provider = "claude"
mcp_servers = ["gc", "db"]
[agents.acp]
deny = ["delete"]
allow = ["execute:go test *"]
[[agents]]
name = "g"
provider = "gemini"
session = "tmux"
mcp_servers = ["db"]
`
	if err := os.WriteFile(filepath.Join(dir, "city.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := speaking{runtimefake.New()}
	if err := p.Start(t.Context(), "gc-town-a", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	make := func(*backend.Set, string) (runtime.Provider, error) { return p, nil }
	return func(args ...string) (stdout, stderr string, status int) {
		var out, errs bytes.Buffer
		args = append(args, "--city", dir)
		a := newApp(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, args)
		a.providers.Make = map[string]backend.Maker{"acp": make, "tmux": make, "native": make, "subprocess": make}
		defer a.providers.Close()
		root := newRootCmd(a)
		root.SetArgs(args)
		cmd, err := root.ExecuteContextC(t.Context())
		status = cli.Report(&errs, cmd, a.agentDown(t.Context(), err))
		return out.String(), errs.String(), status
	}, dir
}

func TestExplainOverACP(t *testing.T) {
	run, _ := speakingCity(t)
	out, errs, status := run("explain", "a")
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, want := range []string{
		"acp: claude-agent-acp", `acceptEdits: it may act without asking: in mode "acceptEdits"`, `it asks in mode "default"`, "big",
		"deny delete; allow execute:go test *; else ask; it covers only what the agent asks, and is not a sandbox",
		"1200 of 200000 tokens", "0.2500 USD", "end_turn after 3.2s", "gc, over acp", "db, over acp",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	out, _, _ = run("explain", "a", "--json")
	var e explained
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatal(err)
	}
	if e.ACP == nil || e.ACP.Asks || e.ACP.Mode != "acceptEdits" || len(e.MCPServers) != 2 || !e.MCPServers[1].Passed || e.Activity.Usage == nil {
		t.Errorf("%+v", e)
	}
	if strings.Contains(out, "hunter2") {
		t.Error("a server's variable is shown")
	}
	if out, _, _ = run("explain", "g"); !strings.Contains(out, "db, not passed: its program takes none from its command line") {
		t.Errorf("an agent that gets no servers:\n%s", out)
	}
}

func TestAgentSet(t *testing.T) {
	run, _ := speakingCity(t)
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"a", "--mode", "auto"}, 0, "in mode \"auto\" the agent may decide itself"},
		{[]string{"a", "--model", "ask"}, 0, ""},
		{[]string{"a", "--mode", "atuo"}, 1, "valid values"},
		{[]string{"a"}, cli.ExitUsage, "nothing to set"},
		{[]string{"nobody", "--mode", "x"}, cli.ExitNotFound, "nobody"},
		{[]string{"g", "--mode", "ask"}, cli.ExitNotFound, ""},
	} {
		_, errs, status := run(append([]string{"agent", "set"}, tt.args...)...)
		if status != tt.status || !strings.Contains(errs, tt.says) || tt.says == "" && status == 0 && errs != "" {
			t.Errorf("%q: status %d, %s", tt.args, status, errs)
		}
	}
}

func TestLogsOverACP(t *testing.T) {
	run, dir := speakingCity(t)
	if out, errs, status := run("logs", "a", "--json"); status != cli.ExitUnsupported {
		t.Errorf("without a transcript: %d, %s%s", status, out, errs)
	}
	if _, errs, status := run("logs", "a", "--wire"); status != cli.ExitNotFound || !strings.Contains(errs, "record = true") {
		t.Errorf("without messages: %d, %s", status, errs)
	}
	dir = filepath.Join(dir, ".gc", "acp", "gc-town-a")
	w, err := transcript.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, e := range []transcript.Entry{{Kind: "prompt", Text: "do it"}, {Kind: "message", Text: "done"}} {
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	wire, err := transcript.NewWire(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Close()
	wire.Add(true, []byte(`{"id":1}`))
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"a"}, 0, "› do it\ndone\n"},
		{[]string{"a", "-n", "1"}, 0, "done\n"},
		{[]string{"a", "--json"}, 0, `"kind":"prompt"`},
		{[]string{"a", "--wire"}, 0, `"msg":{"id":1}`},
		{[]string{"a", "g", "-n", "1"}, 0, "done\n"},
		{[]string{"a", "g", "--json"}, cli.ExitUsage, ""},
		{[]string{"a", "--wire", "-f"}, cli.ExitUsage, ""},
	} {
		out, errs, status := run(append([]string{"logs"}, tt.args...)...)
		if tt.args[len(tt.args)-1] == "1" && tt.args[1] == "g" {
			status = 0 // g does not run
		}
		if status != tt.status || !strings.Contains(out, tt.want) || tt.want == "done\n" && strings.Contains(out, "do it") {
			t.Errorf("%q: status %d, %q, %s", tt.args, status, out, errs)
		}
	}
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/testenv"
)

// inspectorPackage is the protocol's official command-line client.
const inspectorPackage = "@modelcontextprotocol/inspector@2.12.0"

// placeMCP puts gc-mcp next to the binary under test: the built one, or built
// now.
func placeMCP(t *testing.T) {
	t.Helper()
	if err := placed(); err != nil {
		t.Fatal(err)
	}
}

var placed = sync.OnceValue(func() error { // once: a program that runs cannot be written
	path := filepath.Join(filepath.Dir(gcBin), "gc-mcp")
	if built := os.Getenv("GC_E2E_BIN"); built != "" {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(built), "gc-mcp"))
		if err != nil {
			return fmt.Errorf("make build makes it: %w", err)
		}
		return testenv.WriteProgram(path, data)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", path, "gascity.dev/gc/cmd/gc-mcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build gc-mcp: %w\n%s", err, out)
	}
	return nil
})

// inspector calls `gc mcp` with a client that is not ours.
type inspector struct {
	b   *box
	npx string
}

func (i *inspector) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(i.b.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.npx, append([]string{"-y", inspectorPackage, "--cli"}, args...)...)
	cmd.Env = append(i.b.env, "npm_config_cache="+filepath.Join(os.TempDir(), "gc-e2e-npm"), "npm_config_update_notifier=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%w: %s%s", err, out, stderr.Bytes())
	}
	return string(out), nil
}

// call calls a tool and returns its result.
func (i *inspector) call(tool string, args ...string) map[string]any {
	i.b.t.Helper()
	words := []string{gcBin, "mcp", "-e", "GC_MUX_SOCKET=" + i.b.socket, "-e", "GC_SESSION_NAME=me", "--method", "tools/call", "--tool-name", tool}
	for _, a := range args {
		words = append(words, "--tool-arg", a)
	}
	out, err := i.run(words...)
	if err != nil {
		i.b.t.Fatalf("%s %v: %v", tool, args, err)
	}
	var r struct {
		StructuredContent map[string]any
		IsError           bool
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.IsError {
		i.b.t.Fatalf("%s %v: %v: %s", tool, args, err, out)
	}
	return r.StructuredContent
}

// TestInspectorRunsABackgroundCommand: the official inspector starts a command,
// polls it, writes to it and sees its end; each call is a connection of its
// own.
func TestInspectorRunsABackgroundCommand(t *testing.T) {
	npx := need(t, "npx")
	b := newBox(t)
	placeMCP(t)
	i := &inspector{b, npx}
	if _, err := i.run("--help"); err != nil {
		testenv.Missing(t, "the inspector cannot be installed: ", err)
	}
	tools, err := i.run(gcBin, "mcp", "-e", "GC_MUX_SOCKET="+b.socket, "--method", "tools/list")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"exec", "process", "session_list", "session_peek", "session_send", "session_wait", "session_respond"} {
		if !strings.Contains(tools, `"name": "`+name+`"`) {
			t.Errorf("no tool %s in %s", name, tools)
		}
	}
	r := i.call("exec", "command=echo ready; read x; echo got $x; exit 5", "background=true")
	id, _ := r["sessionId"].(string)
	if r["status"] != "running" || id == "" {
		t.Fatalf("started: %v", r)
	}
	if r = i.call("process", "action=poll", "id="+id, "cursor=0", "waitMs=5000"); r["output"] != "ready\n" {
		t.Errorf("polled: %v", r)
	}
	i.call("process", "action=submit", "id="+id, "data=word")
	r = i.call("process", "action=wait", "id="+id)
	if tail, _ := r["tail"].(string); r["status"] != "failed" || r["exitCode"] != 5.0 || !strings.Contains(tail, "got word") {
		t.Errorf("the end: %v", r)
	}
}

// TestMCPFindsItsSession: gc-mcp that an agent starts without any of its environment serves
// the agent's session, at its multiplexer, and starts none elsewhere.
func TestMCPFindsItsSession(t *testing.T) {
	b := newBox(t)
	placeMCP(t)
	home := t.TempDir()
	requests := filepath.Join(home, "requests")
	if err := os.WriteFile(requests, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"session_list","arguments":{}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"exec","arguments":{"command":"sleep 0.3; exit 3","background":true}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(gcBin), "gc-mcp")
	b.gc("session", "new", "s", "--", "env", "GC_MUX_SOCKET="+b.socket, "sh", "-c", "(cat "+requests+"; read -r x) | env -i PATH=/usr/bin:/bin HOME="+home+" "+program+" >"+home+"/out 2>"+home+"/err")
	read := func(name string) string { data, _ := os.ReadFile(filepath.Join(home, name)); return string(data) }
	eventually(t, func() string { return read("out") + read("err") }, func() bool { return strings.Contains(read("out"), `"id":3`) })
	if out := read("out"); !strings.Contains(out, `"own":true`) || strings.Contains(out, "wake nobody") || read("err") != "" {
		t.Errorf("%s\n%s", out, read("err"))
	}
	// The end of its command wakes the session.
	b.gc("session", "wait", "s", "--until", "text=gc:evt", "--timeout", "20s")
	if left, err := os.ReadDir(home); err != nil || len(left) != 3 {
		t.Errorf("in its home: %v, %v", left, err)
	}
}

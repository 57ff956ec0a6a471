package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// speak sends lines to a server, ends its input, and returns its replies by id;
// errors without one are under "null".
func (w *world) speak(lines ...string) map[string]map[string]any {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), os.Args[0])
	cmd.Env = []string{
		serverVar + "=read", "GC_MUX_SOCKET=" + w.paths.Socket, "GC_SESSION_NAME=me", "PATH=" + os.Getenv("PATH"), "HOME=/",
	}
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Errorf("the server ends with %v", err)
	}
	answers := map[string]map[string]any{}
	for line := range bytes.Lines(out) {
		var all []map[string]any
		if json.Unmarshal(line, &all) != nil {
			var one map[string]any
			if err := json.Unmarshal(line, &one); err != nil {
				w.t.Fatalf("%q: %v", line, err)
			}
			all = []map[string]any{one}
		}
		for _, m := range all {
			id, _ := json.Marshal(m["id"])
			answers[string(id)] = m
		}
	}
	return answers
}

func initialize(version string) []string {
	return []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version +
			`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
}

func resultOf(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	r, ok := m["result"].(map[string]any)
	if !ok {
		t.Fatalf("no result: %v", m)
	}
	return r
}

func codeOf(m map[string]any) any {
	e, _ := m["error"].(map[string]any)
	return e["code"]
}

const callExec = `"method":"tools/call","params":{"name":"exec","arguments":{"command":"echo fast"}`

// TestVersionsWithHandshake: clients of every version so far are served in
// their own, and get the reply to their last request although their input has
// ended.
func TestVersionsWithHandshake(t *testing.T) {
	w := newWorld(t)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		got := w.speak(append(initialize(version), `{"jsonrpc":"2.0","id":"two",`+callExec+`}}`)...)
		if v := resultOf(t, got["1"])["protocolVersion"]; v != version {
			t.Errorf("%s is answered with %v", version, v)
		}
		r := resultOf(t, got[`"two"`])
		text := r["content"].([]any)[0].(map[string]any)["text"].(string)
		if r["isError"] == true || !strings.Contains(text, `"output":"fast\n"`) {
			t.Errorf("%s: %v", version, r)
		}
	}
	unknown := w.speak(initialize("1999-01-01")...)
	if v := resultOf(t, unknown["1"])["protocolVersion"]; v == "1999-01-01" || v == "" {
		t.Errorf("an unknown version is answered with %v", v)
	}
}

// TestVersionWithoutHandshake: 2026-07-28 has neither handshake nor session;
// each request states its version, and an unknown one is rejected with the list
// of known ones.
func TestVersionWithoutHandshake(t *testing.T) {
	w := newWorld(t)
	meta := func(version string) string {
		return `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	got := w.speak(
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta("2026-07-28")+`}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+meta("2026-07-28")+`}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{`+meta("2999-01-01")+`}}`,
		`{"jsonrpc":"2.0","id":4,`+callExec+`,`+meta("2026-07-28")+`}}`)
	d := resultOf(t, got["1"])
	versions, _ := json.Marshal(d["supportedVersions"])
	for _, v := range []string{"2024-11-05", "2025-06-18", "2026-07-28"} {
		if !strings.Contains(string(versions), v) {
			t.Errorf("%s is not among %s", v, versions)
		}
	}
	if c, _ := d["capabilities"].(map[string]any); c["tools"] == nil || c["tasks"] != nil {
		t.Errorf("capabilities %v", c)
	}
	if tools := resultOf(t, got["2"])["tools"].([]any); len(tools) != 11 {
		t.Errorf("%d tools", len(tools))
	}
	if got["3"]["error"] == nil {
		t.Errorf("an unknown version: %v", got["3"])
	}
	if r := resultOf(t, got["4"]); r["isError"] == true {
		t.Errorf("exec: %v", r)
	}
}

// TestBadLines: an invalid message is answered as JSON-RPC requires, and the
// server continues.
func TestBadLines(t *testing.T) {
	w := newWorld(t)
	ping := `{"jsonrpc":"2.0","id":"after","method":"ping"}`
	for name, bad := range map[string]struct {
		line string
		id   string
		code float64
	}{
		"no JSON":           {`{"jsonrpc":`, "null", -32700},
		"words":             {`hello there`, "null", -32700},
		"two messages":      {ping + ping, "null", -32700},
		"a number":          {`5`, "null", -32600},
		"no version":        {`{"id":7,"method":"ping"}`, "7", -32600},
		"another version":   {`{"jsonrpc":"1.0","id":"x","method":"ping"}`, `"x"`, -32600},
		"an id of no type":  {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null", -32600},
		"no method, no id":  {`{"jsonrpc":"2.0"}`, "null", -32600},
		"an empty batch":    {`[]`, "null", -32600},
		"a batch of words":  {`["a"]`, "null", -32600},
		"a batch":           {`[` + ping + `]`, "null", -32600}, // of a version without batches
		"an unknown method": {`{"jsonrpc":"2.0","id":8,"method":"no/such"}`, "8", -32601},
		"too long":          {`{"jsonrpc":"2.0","id":9,"method":"` + strings.Repeat("x", maxLine) + `"}`, "null", -32600},
	} {
		got := w.speak(append(initialize("2025-06-18"), bad.line, "", "\r", ping)...)
		if code := codeOf(got[bad.id]); code != bad.code {
			t.Errorf("%s: %v, want code %v", name, got, bad.code)
		}
		if got[`"after"`]["result"] == nil {
			t.Errorf("%s: the server does not go on: %v", name, got)
		}
	}
	got := w.speak(append(initialize("2025-03-26"), `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`)...)
	if got[`"a"`]["result"] == nil || got[`"b"`]["result"] == nil {
		t.Errorf("a batch of a version that has them: %v", got)
	}
}

// TestCancelledIsNotAwaited: at the end of the input a cancelled request is not
// waited for.
func TestCancelledIsNotAwaited(t *testing.T) {
	w := newWorld(t)
	got := w.speak(append(initialize("2025-06-18"),
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"session_wait","arguments":{"name":"nobody","until":"exit"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`)...)
	if got["3"]["result"] == nil {
		t.Errorf("ping: %v", got)
	}
}

// TestNewestClient: the SDK's own client and the server agree on the version
// without a handshake.
func TestNewestClient(t *testing.T) {
	w := newWorld(t)
	s := w.connect("me", "read")
	if v := s.InitializeResult().ProtocolVersion; v != "2026-07-28" {
		t.Errorf("they speak %s", v)
	}
}

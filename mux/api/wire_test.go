package api_test

import (
	"encoding/json"
	"testing"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
)

// TestWire fixes the bytes of the types that carry durations: what an empty one is,
// and that a full one reads back as written.
func TestWire(t *testing.T) {
	for _, tt := range []struct {
		empty any // a pointer to the zero value
		zero  string
		full  string
	}{
		{&api.ExecRequest{}, `{}`,
			`{"command":"make","argv":["a"],"background":true,"yieldMs":250,"follow":true,"pty":true,"cols":80,"rows":24,"timeoutMs":1500,` +
				`"idleTimeoutMs":3000,"stdin":"eA==","eof":true,"cwd":"/d","label":"l","limits":{"pids":3,"cpuSeconds":60},"owner":"o",` +
				`"callId":"c","idempotencyKey":"k","notify":"never"}`},
		{&api.ExecRequest{}, `{}`, `{"yieldMs":-1,"timeoutMs":-1,"idleTimeoutMs":-1}`},
		{&api.ExecWire{}, `{}`, `{"command":"make","yieldMs":1,"timeoutMs":86400000,"idleTimeoutMs":1,"env":["A=b"],"envBytes":["eA=="]}`},
		{&api.ExecResult{}, `{"sessionId":"","status":"","durationMs":0,"cursor":0,"command":""}`,
			`{"sessionId":"x","status":"running","exitCode":0,"signal":"SIGHUP","reason":"r","pid":7,"startedAt":"2026-01-02T03:04:05Z",` +
				`"endedAt":"2026-01-02T03:04:06Z","durationMs":1001,"output":"o","data":"eA==","missing":1,"cursor":2,"tail":"t","truncated":true,` +
				`"waitingForInput":true,"idleMs":17,"eventId":"x/exit","command":"make","label":"l","owner":"o","callId":"c","pty":true,` +
				`"background":true,"existed":true,"delivery":"pending"}`},
		{&api.PollRequest{}, `{}`, `{"cursor":0,"waitMs":30000,"bytes":1,"raw":true,"caller":"c"}`},
		{&api.PollRequest{}, `{}`, `{"waitMs":-5}`},
		{&process.Event{}, `{"eventId":"","type":"","sessionId":"","command":"","exitCode":0}`,
			`{"eventId":"x/exit","type":"exec.failed","sessionId":"x","label":"l","command":"make","owner":"o","callId":"c","exitCode":2,` +
				`"signal":"SIGHUP","reason":"r","tail":"t","startedAt":"2026-01-02T03:04:05Z","endedAt":"2026-01-02T03:04:06Z","durationMs":125000}`},
		{&process.Record{}, `{"id":"","command":"","created":"0001-01-01T00:00:00Z","status":"","exitCode":0}`,
			`{"id":"x","command":"make","timeout":1500000000,"idleTimeout":3000000000,"created":"2026-01-02T03:04:05Z","status":"failed",` +
				`"exitCode":2,"duration":1000000001}`},
		{&api.WaitRequest{}, `{"conditions":null}`, `{"conditions":[{"quiet":1500000000}],"timeout":30000000000}`},
		{&api.NudgeRequest{}, `{"text":""}`, `{"text":"t","timeout":30000000001}`},
		{&api.QueueRequest{}, `{"target":"","text":""}`, `{"target":"a","text":"t","ttl":86400000000001}`},
	} {
		zero, err := json.Marshal(tt.empty)
		if err != nil || string(zero) != tt.zero {
			t.Errorf("%T: empty is\n%s, %v; want\n%s", tt.empty, zero, err, tt.zero)
		}
		if err := json.Unmarshal([]byte(tt.full), tt.empty); err != nil {
			t.Errorf("%T: %v", tt.empty, err)
		}
		if full, err := json.Marshal(tt.empty); err != nil || string(full) != tt.full {
			t.Errorf("%T: read and written is\n%s, %v; want\n%s", tt.empty, full, err, tt.full)
		}
	}
}

// TestBadDurationsOnTheWire: a duration is an integer; null means none.
func TestBadDurationsOnTheWire(t *testing.T) {
	for _, bad := range []string{`"5s"`, `"5"`, `1.5`, `1e3`, `true`, `{}`, `[1]`, `99999999999999999999`} {
		var r api.ExecRequest
		if err := json.Unmarshal([]byte(`{"yieldMs":`+bad+`}`), &r); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
	var r api.ExecRequest
	if err := json.Unmarshal([]byte(`{"yieldMs":null}`), &r); err != nil {
		t.Error(err)
	}
	if b, err := json.Marshal(r); err != nil || string(b) != `{}` {
		t.Errorf("%s, %v", b, err)
	}
}

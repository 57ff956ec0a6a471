package protocol

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Everything that real agents sent is understood; only inventions are unknown.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/transcripts/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("transcripts: %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			methods := map[string]string{} // of our requests, by id
			for line := range bytes.Lines(b) {
				var e struct {
					Dir string
					Msg struct {
						ID             json.RawMessage
						Method         string
						Params, Result json.RawMessage
					}
				}
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatal(err)
				}
				m := e.Msg
				switch {
				case e.Dir == "c2a" && m.Method != "" && m.ID != nil:
					methods[string(m.ID)] = m.Method
				case e.Dir == "a2c" && m.Method != "":
					checkParams(t, m.Method, m.Params)
				case e.Dir == "a2c" && m.Result != nil:
					checkResult(t, methods[string(m.ID)], m.Result)
				}
			}
		})
	}
}

// real is false for what the malformed peer invented.
func real(t *testing.T) bool { return !strings.Contains(t.Name(), "malformed") }

func checkParams(t *testing.T, method string, raw json.RawMessage) {
	t.Helper()
	switch method {
	case MethodUpdate:
		checkUpdate(t, decode[SessionNotification](t, string(raw)), raw)
	case MethodPermission:
		r := decode[PermissionRequest](t, string(raw))
		if r.SessionID == "" || r.ToolCall.ID == "" || len(r.Options) == 0 || real(t) && r.ToolCall.Title == "" {
			t.Errorf("%s: %+v", raw, r)
		}
		for _, o := range r.Options {
			if o.Name == "" || o.Kind != AllowOnce && o.Kind != AllowAlways && o.Kind != RejectOnce && o.Kind != RejectAlways {
				t.Errorf("%s: option %+v", raw, o)
			}
		}
	case MethodCancelRequest:
		if r := decode[CancelRequest](t, string(raw)); r.RequestID == nil {
			t.Errorf("%s: %+v", raw, r)
		}
	case "_auth/status_update":
	default:
		t.Errorf("unknown method %s", method)
	}
}

func checkUpdate(t *testing.T, n SessionNotification, raw json.RawMessage) {
	t.Helper()
	u := n.Update
	ok := false
	switch u.Kind {
	case UpdateUser, UpdateMessage, UpdateThought:
		ok = u.Content.Text != "" || !real(t)
	case UpdateToolCall:
		ok = u.Tool.ID != "" && u.Tool.Title != "" && u.Tool.Kind != "" && u.Tool.Status != ""
	case UpdateTool:
		ok = u.Tool.ID != ""
	case UpdateCommands:
		ok = len(u.Commands) > 0
	case UpdateOptions:
		ok = len(u.Options) > 0 && u.Options[0].Value != "" && len(u.Options[0].Choices) > 0
	case UpdateUsage:
		ok = u.Usage.Used > 0 && u.Usage.Size > 0
	case UpdateInfo:
		ok = u.Title != "" || strings.Contains(string(raw), "threadStatus")
	default:
		ok = !real(t)
	}
	if !ok || n.SessionID == "" {
		t.Errorf("%s: %+v", raw, n)
	}
}

func checkResult(t *testing.T, method string, raw json.RawMessage) {
	t.Helper()
	ok := true
	switch method {
	case MethodInitialize:
		r := decode[InitializeResult](t, string(raw))
		ok = r.ProtocolVersion.Number() == Version
	case MethodNew:
		r := decode[SessionResult](t, string(raw))
		ok = r.SessionID != ""
	case MethodLoad, MethodResume:
		r := decode[SessionResult](t, string(raw))
		ok = len(r.ConfigOptions) > 0
	case MethodPrompt:
		r := decode[PromptResult](t, string(raw))
		ok = r.StopReason == StopEndTurn || r.StopReason == StopCancelled
		if strings.Contains(string(raw), `put_tokens":`) && r.Usage.Input == 0 {
			ok = false
		}
	case MethodSteering:
		ok = decode[SteeringResult](t, string(raw)).Outcome == Injected
	case MethodSetMode, MethodAuthenticate:
	default:
		t.Errorf("an answer to %q", method)
	}
	if !ok {
		t.Errorf("%s: %s", method, raw)
	}
}

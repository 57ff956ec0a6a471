package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
)

// sdkAgent is an agent on the Go SDK: a prompt sends updates, asks, and ends with what
// was answered. Methods that the test does not need are nil.
type sdkAgent struct {
	acp.Agent
	conn *acp.AgentSideConnection
}

func (a *sdkAgent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (a *sdkAgent) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if r.Cwd != "/project" {
		return acp.NewSessionResponse{}, errors.New("wrong directory")
	}
	return acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *sdkAgent) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	for i := range 100 {
		if err := a.conn.SessionUpdate(ctx, acp.SessionNotification{
			SessionId: r.SessionId, Update: acp.UpdateAgentMessageText(fmt.Sprintf("%s %d", r.Prompt[0].Text.Text, i)),
		}); err != nil {
			return acp.PromptResponse{}, err
		}
	}
	answer, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: r.SessionId,
		ToolCall:  acp.ToolCallUpdate{ToolCallId: "t1"},
		Options:   []acp.PermissionOption{{OptionId: "yes", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce}},
	})
	if err != nil {
		return acp.PromptResponse{}, err
	}
	if answer.Outcome.Selected == nil || answer.Outcome.Selected.OptionId != "yes" {
		return acp.PromptResponse{StopReason: acp.StopReasonRefusal}, nil
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// A turn with an agent on the Go SDK.
func TestTurnWithTheSDK(t *testing.T) {
	p := connect(t, Options{})
	agent := &sdkAgent{}
	agent.conn = acp.NewAgentSideConnection(agent, p.out, p.raw)
	agent.conn.SetLogger(slog.New(slog.DiscardHandler))
	result := func(call int64) string {
		t.Helper()
		m := p.next()
		if m.Kind != Response || m.Call != call || m.Err != nil {
			t.Fatalf("got %+v (%v), want the answer to call %d", m, m.Err, call)
		}
		return string(m.Result)
	}

	got := result(p.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}))
	if !strings.Contains(got, `"protocolVersion":1`) {
		t.Errorf("initialize: %s", got)
	}
	got = result(p.call("session/new", map[string]any{"cwd": "/project", "mcpServers": []any{}}))
	if !strings.Contains(got, `"sessionId":"s1"`) {
		t.Errorf("session/new: %s", got)
	}
	prompt := p.call("session/prompt", map[string]any{"sessionId": "s1", "prompt": []any{map[string]string{"type": "text", "text": "hello"}}})
	for i := range 100 {
		if m := p.next(); m.Method != "session/update" || !strings.Contains(string(m.Params), fmt.Sprintf(`"hello %d"`, i)) {
			t.Fatalf("update %d: %s %s", i, m.Method, m.Params)
		}
	}
	ask := p.next()
	if ask.Kind != Request || ask.Method != "session/request_permission" {
		t.Fatalf("got %+v, want the question", ask)
	}
	if err := p.conn.Reply(ask.ID, map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": "yes"}}); err != nil {
		t.Fatal(err)
	}
	if got := result(prompt); !strings.Contains(got, `"end_turn"`) {
		t.Errorf("session/prompt: %s", got)
	}

	bad := p.call("session/new", map[string]any{"cwd": "relative", "mcpServers": []any{}})
	if m := p.next(); m.Call != bad || m.Err == nil {
		t.Errorf("got %+v, want an error", m)
	}
	p.conn.CloseWrite()
	<-agent.conn.Done()
}

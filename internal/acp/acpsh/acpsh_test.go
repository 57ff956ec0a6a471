package acpsh_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"gascity.dev/gc/internal/acp/acpsh"
)

func TestMain(m *testing.M) {
	if acpsh.Called() {
		os.Exit(acpsh.Main(os.Args))
	}
	os.Exit(m.Run())
}

// client is the other end.
type client struct {
	mu     sync.Mutex
	said   strings.Builder
	choose string // option to choose; "": wait for the end
	asked  chan acp.RequestPermissionRequest
}

func (c *client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if chunk := n.Update.AgentMessageChunk; chunk != nil && chunk.Content.Text != nil {
		c.said.WriteString(chunk.Content.Text.Text)
	}
	return nil
}

func (c *client) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	c.asked <- r
	for _, o := range r.Options {
		if o.Name == c.choose {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

func (c *client) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound("fs")
}

func (c *client) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound("fs")
}

func (c *client) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, acp.NewMethodNotFound("terminal")
}

func (c *client) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, acp.NewMethodNotFound("terminal")
}

func (c *client) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, acp.NewMethodNotFound("terminal")
}

func (c *client) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, acp.NewMethodNotFound("terminal")
}

func (c *client) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, acp.NewMethodNotFound("terminal")
}

// awaitSaid waits until the agent has said the text.
func (c *client) awaitSaid(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		said := c.said.String()
		c.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %q in %q", text, said)
		}
	}
}

// session is an agent with its session.
type session struct {
	*client
	conn  *acp.ClientSideConnection
	cmd   *exec.Cmd
	id    acp.SessionId
	modes []string
}

func open(t *testing.T, line string) *session {
	t.Helper()
	command, err := acpsh.Command(line)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{client: &client{asked: make(chan acp.RequestPermissionRequest, 1)}, cmd: exec.Command("/bin/sh", "-c", command)}
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = s.cmd.Wait() })
	s.conn = acp.NewClientSideConnection(s.client, in, out)
	if _, err := s.conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}); err != nil {
		t.Fatal(err)
	}
	r, err := s.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	s.id = r.SessionId
	for _, o := range r.ConfigOptions {
		s.modes = append(s.modes, string(o.Select.Id)+"="+string(o.Select.CurrentValue))
	}
	return s
}

func (s *session) prompt(t *testing.T, text string) acp.StopReason {
	t.Helper()
	r, err := s.conn.Prompt(t.Context(), acp.PromptRequest{SessionId: s.id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	if err != nil {
		t.Error(err)
	}
	return r.StopReason
}

func TestPromptsAreInputAndOutputIsSaid(t *testing.T) {
	s := open(t, "echo up 日本; exec cat")
	s.awaitSaid(t, "up 日本\n")
	if got := s.prompt(t, "hello"); got != acp.StopReasonEndTurn {
		t.Errorf("ended with %s", got)
	}
	s.awaitSaid(t, "hello\n")
	if !slices.Equal(s.modes, []string{"mode=ask", "model=small"}) {
		t.Errorf("options %q", s.modes)
	}
}

func TestItEndsWithItsCommand(t *testing.T) {
	s := open(t, "echo last words; exit 7")
	s.awaitSaid(t, "last words\n")
	err := s.cmd.Wait()
	if s.cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("ended with %v", err)
	}
}

func TestHoldAndAsk(t *testing.T) {
	s := open(t, "exec cat")
	ended := make(chan acp.StopReason, 1)
	go func() { ended <- s.prompt(t, "HOLD") }()
	s.awaitSaid(t, "holding\n")
	if err := s.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: s.id}); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != acp.StopReasonCancelled {
		t.Errorf("ended with %s", got)
	}
	s.choose = "Blue"
	if got := s.prompt(t, "ASK permission Red Blue"); got != acp.StopReasonEndTurn {
		t.Errorf("ended with %s", got)
	}
	if q := <-s.asked; len(q.Options) != 2 || q.Options[0].Kind != acp.PermissionOptionKindAllowOnce {
		t.Errorf("%+v", q)
	}
	s.awaitSaid(t, "chose Blue\n")
}

func TestCloseLetsTheCommandCleanUp(t *testing.T) {
	done := t.TempDir() + "/done"
	s := open(t, "trap 'echo clean > "+done+"; exit 0' TERM; echo up; while :; do read x; done")
	s.awaitSaid(t, "up")
	if _, err := s.conn.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: s.id}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(done); err != nil || string(b) != "clean\n" {
		t.Errorf("%q, %v", b, err)
	}
}

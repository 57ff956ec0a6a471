package acpsh

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// Times of the agent.
const (
	quietTime = 30 * time.Millisecond  // without output: the turn has ended
	quietMost = time.Second            // for a command that is never quiet
	leastLife = 500 * time.Millisecond // after the session was opened: it does not fail the start
	endTime   = 3 * time.Second        // for the command to end by itself
)

// agent is the agent.
type agent struct {
	line string
	conn *acp.AgentSideConnection

	once  sync.Once     // the client knows the session
	taken chan struct{} // a prompt was taken

	mu      sync.Mutex
	session acp.SessionId
	config  map[acp.SessionConfigId]acp.SessionConfigValueId
	cancel  context.CancelFunc // ends the turn; nil without one
	shell   *command           // nil before the session
	closing bool
	asked   int
}

var _ acp.Agent = (*agent)(nil)

// Main is the agent's process: args are the program and the command line that it runs.
func Main(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: acpsh COMMAND")
		return 2
	}
	if err := os.Unsetenv(variable); err != nil {
		return 2
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	a := &agent{
		line:   args[1],
		taken:  make(chan struct{}, 4096),
		config: map[acp.SessionConfigId]acp.SessionConfigValueId{"mode": "ask", "model": "small"},
	}
	ended := make(chan int, 1)
	a.conn = acp.NewAgentSideConnection(a, opener{a, ended}, &inOrder{lines: bufio.NewReader(os.Stdin), taken: a.taken})
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGINT {
				continue // the prompt is cancelled by the protocol
			}
			a.end()
			return 128 + int(sig.(syscall.Signal))
		case <-a.conn.Done():
			return a.end()
		case status := <-ended:
			return status
		}
	}
}

// opener writes to the client, and starts to pass the output on once the client knows
// the session: updates before would be of a session that it does not know.
type opener struct {
	a     *agent
	ended chan<- int
}

func (o opener) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	o.a.mu.Lock()
	sh := o.a.shell
	o.a.mu.Unlock()
	if err == nil && sh != nil && bytes.Contains(p, []byte(`"configOptions"`)) { // the answer to open the session
		o.a.once.Do(func() { go o.a.follow(sh, o.ended) })
	}
	return n, err
}

// follow passes the command's output on, and its end.
func (a *agent) follow(sh *command, ended chan<- int) {
	begin := time.Now()
	_ = a.tellCommands() // else the connection has ended
	sh.read(func(text string) { _ = a.say(text) })
	status := sh.wait()
	time.Sleep(leastLife - time.Since(begin))
	a.mu.Lock()
	closing := a.closing
	a.mu.Unlock()
	if !closing { // else the client closes the connection
		ended <- status
	}
}

// end ends the command and returns its status.
func (a *agent) end() int {
	a.mu.Lock()
	a.closing = true
	sh, cancel := a.shell, a.cancel
	a.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if sh == nil {
		return 0
	}
	return sh.end()
}

// say sends a part of a message.
func (a *agent) say(text string) error {
	return a.conn.SessionUpdate(context.Background(), acp.SessionNotification{SessionId: a.session, Update: acp.UpdateAgentMessageText(text)})
}

// tellCommands tells which commands the agent has.
func (a *agent) tellCommands() error {
	list := []acp.AvailableCommand{{Name: "review", Description: "look at the changes"}, {Name: "reset", Description: "forget everything"}}
	return a.conn.SessionUpdate(context.Background(), acp.SessionNotification{SessionId: a.session, Update: acp.SessionUpdate{
		AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{AvailableCommands: list},
	}})
}

func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acpsh", Version: "1"},
		AgentCapabilities: acp.AgentCapabilities{
			SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}, Resume: &acp.SessionResumeCapabilities{}},
		},
	}, nil
}

func (a *agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

func (a *agent) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if os.Getenv("ACPSH") == "login" {
		return acp.NewSessionResponse{}, acp.NewAuthRequired(nil)
	}
	id := acp.SessionId(rand.Text())
	if err := a.open(id, r.Cwd); err != nil {
		return acp.NewSessionResponse{}, err
	}
	return acp.NewSessionResponse{SessionId: id, ConfigOptions: a.options()}, nil
}

func (a *agent) ResumeSession(_ context.Context, r acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	if os.Getenv("ACPSH") == "forgets" {
		return acp.ResumeSessionResponse{}, &acp.RequestError{Code: -32602, Message: "no previous sessions found for this project"}
	}
	if err := a.open(r.SessionId, r.Cwd); err != nil {
		return acp.ResumeSessionResponse{}, err
	}
	return acp.ResumeSessionResponse{ConfigOptions: a.options()}, nil
}

// open starts the command of the session, the only one.
func (a *agent) open(id acp.SessionId, dir string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shell != nil {
		return fmt.Errorf("this agent has one session")
	}
	sh, err := start(a.line, dir)
	if err == nil {
		a.session, a.shell = id, sh
	}
	return err
}

func (a *agent) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	a.end()
	return acp.CloseSessionResponse{}, nil
}

func (a *agent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (a *agent) Cancel(context.Context, acp.CancelNotification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil {
		a.cancel()
	}
	return nil
}

// Prompt is one turn.
func (a *agent) Prompt(_ context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	select {
	case a.taken <- struct{}{}:
	default: // nobody has cancelled anything for long
	}
	if os.Getenv("ACPSH") == "late" {
		return acp.PromptResponse{}, acp.NewAuthRequired(nil)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.mu.Lock()
	if a.cancel != nil {
		a.mu.Unlock()
		return acp.PromptResponse{}, fmt.Errorf("a prompt is open already")
	}
	a.cancel = cancel
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.cancel = nil
		a.mu.Unlock()
	}()
	err := a.turn(ctx, textOf(r.Prompt))
	switch {
	case ctx.Err() != nil:
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	case err != nil:
		return acp.PromptResponse{}, err
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// textOf is a prompt as lines of the command's input; a file is its name.
func textOf(blocks []acp.ContentBlock) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			parts = append(parts, b.Text.Text)
		case b.ResourceLink != nil:
			parts = append(parts, "[File: "+b.ResourceLink.Name+"]")
		}
	}
	return strings.Join(parts, "\n")
}

func (a *agent) turn(ctx context.Context, text string) error {
	switch words := strings.Fields(text); {
	case len(words) > 0 && words[0] == "HOLD":
		if err := a.say("holding\n"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	case len(words) > 2 && words[0] == "ASK":
		return a.ask(ctx, words[1], words[2:])
	case len(words) > 0 && words[0] == "FORM":
		return a.form(ctx, words[1:])
	}
	return a.shell.tell(ctx, text)
}

// ask asks for a permission. The first option allows, the others reject.
func (a *agent) ask(ctx context.Context, kind string, labels []string) error {
	a.asked++
	r := acp.RequestPermissionRequest{
		SessionId: a.session,
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: acp.ToolCallId(fmt.Sprintf("ask-%d", a.asked)), Title: acp.Ptr("asks for " + kind),
			Kind: acp.Ptr(acp.ToolKindExecute), Status: acp.Ptr(acp.ToolCallStatusPending),
		},
	}
	for i, label := range labels {
		kind := acp.PermissionOptionKindAllowOnce
		if i > 0 {
			kind = acp.PermissionOptionKindRejectOnce
		}
		r.Options = append(r.Options, acp.PermissionOption{Kind: kind, Name: label, OptionId: acp.PermissionOptionId(fmt.Sprint(i))})
	}
	answer, err := a.conn.RequestPermission(ctx, r)
	if err != nil {
		return err
	}
	if answer.Outcome.Selected == nil {
		return a.say("cancelled\n")
	}
	i := slices.IndexFunc(r.Options, func(o acp.PermissionOption) bool { return o.OptionId == answer.Outcome.Selected.OptionId })
	if i < 0 {
		return fmt.Errorf("no option %s", answer.Outcome.Selected.OptionId)
	}
	return a.say("chose " + labels[i] + "\n")
}

// form asks for one of the values, or for text without any.
func (a *agent) form(ctx context.Context, values []string) error {
	field := map[string]any{"type": "string"}
	if len(values) > 0 {
		field["enum"] = values
	}
	answer, err := a.conn.UnstableCreateElicitation(ctx, acp.UnstableCreateElicitationRequest{Form: &acp.UnstableCreateElicitationForm{
		Mode: "form", Message: "which one?",
		RequestedSchema: acp.UnstableElicitationSchema{Type: "object", Properties: map[string]any{"value": field}, Required: []string{"value"}},
	}})
	switch {
	case err != nil:
		return err
	case answer.Accept != nil:
		return a.say(fmt.Sprintf("filled in %v\n", answer.Accept.Content["value"]))
	case answer.Decline != nil:
		return a.say("declined\n")
	}
	return a.say("cancelled\n")
}

// options are the agent's mode and model.
func (a *agent) options() []acp.SessionConfigOption {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []acp.SessionConfigOption
	for _, o := range []struct {
		id     acp.SessionConfigId
		values []acp.SessionConfigValueId
	}{{"mode", []acp.SessionConfigValueId{"ask", "code"}}, {"model", []acp.SessionConfigValueId{"small", "large"}}} {
		var list acp.SessionConfigSelectOptionsUngrouped
		for _, v := range o.values {
			list = append(list, acp.SessionConfigSelectOption{Name: strings.ToUpper(string(v)), Value: v})
		}
		out = append(out, acp.SessionConfigOption{Select: &acp.SessionConfigOptionSelect{
			Id: o.id, Name: string(o.id), Category: acp.Ptr(acp.SessionConfigOptionCategory(o.id)), CurrentValue: a.config[o.id],
			Options: acp.SessionConfigSelectOptions{Ungrouped: &list}, Type: "select",
		}})
	}
	return out
}

func (a *agent) SetSessionConfigOption(_ context.Context, r acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	if r.ValueId == nil {
		return acp.SetSessionConfigOptionResponse{}, fmt.Errorf("no value")
	}
	a.mu.Lock()
	a.config[r.ValueId.ConfigId] = r.ValueId.Value
	a.mu.Unlock()
	return acp.SetSessionConfigOptionResponse{ConfigOptions: a.options()}, nil
}

func (a *agent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}

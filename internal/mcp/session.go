package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

type listInput struct {
	Prefix string `json:"prefix,omitempty" jsonschema:"only names with this prefix"`
	All    bool   `json:"all,omitempty" jsonschema:"include ended sessions still kept"`
}

type listOutput struct {
	Sessions []sessionEntry `json:"sessions"`
}

// sessionEntry is the part of a session's state shown to agents.
type sessionEntry struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	State      string    `json:"state"`
	Kind       string    `json:"kind,omitempty"`
	Owner      string    `json:"owner,omitempty"`
	Command    string    `json:"command"`
	WorkDir    string    `json:"workDir"`
	Title      string    `json:"title,omitempty"`
	Started    time.Time `json:"started"`
	LastOutput time.Time `json:"lastOutput,omitzero"`
	Own        bool      `json:"own"` // the caller's: it can be changed without --control
}

func (s *server) list(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, listOutput, error) {
	out := listOutput{Sessions: []sessionEntry{}}
	client, err := s.client(ctx)
	if err != nil {
		return nil, out, err
	}
	defer client.Close()
	all, err := client.List(ctx, in.Prefix, in.All)
	for _, i := range all {
		out.Sessions = append(out.Sessions, sessionEntry{
			ID: i.ID, Name: i.Name, State: i.State, Kind: i.Kind, Owner: i.Owner, Command: i.Command, WorkDir: i.WorkDir,
			Title: i.Title, Started: i.Started, LastOutput: i.LastOutput, Own: s.owns(i),
		})
	}
	return nil, out, err
}

// owns reports whether a session is the caller's.
func (s *server) owns(i api.SessionInfo) bool {
	return s.isCaller(i.Name) || i.Kind == api.KindExec && (s.isCaller(i.Owner) || s.began(i.ID))
}

type peekInput struct {
	Name  string `json:"name" jsonschema:"name or id of the session"`
	Lines int    `json:"lines,omitempty" jsonschema:"lines from the bottom, default 100"`
}

type peekOutput struct {
	State    string `json:"state"`
	Revision uint64 `json:"revision"`
	Text     string `json:"text"`
}

const peekLines = 100

func (s *server) peek(ctx context.Context, _ *mcp.CallToolRequest, in peekInput) (*mcp.CallToolResult, peekOutput, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, peekOutput{}, err
	}
	defer client.Close()
	if in.Lines <= 0 {
		in.Lines = peekLines
	}
	r, err := client.Peek(ctx, api.PeekRequest{Name: in.Name, Lines: in.Lines})
	return nil, peekOutput{r.State, r.Revision, r.Text}, err
}

type sendInput struct {
	Name string `json:"name" jsonschema:"name or id of the session"`
	Text string `json:"text" jsonschema:"the message"`

	Interrupt bool `json:"interrupt,omitempty" jsonschema:"end the turn that runs first, and wait until it has ended"`
}

func (s *server) send(ctx context.Context, _ *mcp.CallToolRequest, in sendInput) (*mcp.CallToolResult, api.Receipt, error) {
	var out api.Receipt
	err := s.changing(ctx, in.Name, func(c *client.Client) (err error) {
		out, err = c.Nudge(ctx, in.Name, api.NudgeRequest{Text: in.Text, Interrupt: in.Interrupt})
		return err
	})
	return nil, out, err
}

// changing connects and checks that the caller may change the session.
func (s *server) changing(ctx context.Context, name string, act func(c *client.Client) error) error {
	client, err := s.client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	i, err := client.Get(ctx, name)
	if err != nil {
		return err
	}
	if !s.Control && !s.owns(i) {
		return fmt.Errorf("%s is not yours; without --control others' sessions are read-only", i.Name)
	}
	return act(client)
}

type waitInput struct {
	Name    string     `json:"name" jsonschema:"name or id of the session"`
	Until   string     `json:"until" jsonschema:"what to wait for"`
	Text    string     `json:"text,omitempty" jsonschema:"text: RE2 pattern for a line of the screen"`
	Quiet   api.Millis `json:"quietMs,omitzero" jsonschema:"quiet: no output for this long, default 1000"`
	Timeout api.Millis `json:"timeoutMs,omitzero" jsonschema:"timeout, default 30000"`
}

// quietDefault is the default of quietMs.
const quietDefault = time.Second

type waitOutput struct {
	Met      bool   `json:"met"`
	TimedOut bool   `json:"timedOut"`
	Ended    bool   `json:"ended"`
	ExitCode int    `json:"exitCode,omitempty"`
	Text     string `json:"text,omitempty"` // the last lines of the screen
}

func (s *server) wait(ctx context.Context, _ *mcp.CallToolRequest, in waitInput) (*mcp.CallToolResult, waitOutput, error) {
	var out waitOutput
	client, err := s.client(ctx)
	if err != nil {
		return nil, out, err
	}
	defer client.Close()
	if in.Quiet <= 0 {
		in.Quiet = api.Millis(quietDefault)
	}
	conditions := map[string]api.Condition{
		"idle": {Idle: true}, "blocked": {Blocked: true}, "exit": {Exit: true}, "text": {Text: in.Text},
		"quiet": {Quiet: time.Duration(in.Quiet)},
	}
	cond, known := conditions[in.Until]
	if !known || in.Until == "text" && in.Text == "" {
		return nil, out, fmt.Errorf("until is %q; valid: idle, blocked, exit, quiet, or text with a pattern", in.Until)
	}
	limit := time.Duration(in.Timeout)
	if limit <= 0 {
		limit = processWait
	}
	r, err := client.Wait(ctx, in.Name, api.WaitRequest{Conditions: []api.Condition{cond}, Timeout: limit})
	if err != nil {
		return nil, out, err
	}
	out.Met, out.TimedOut, out.Ended = r.Met == 0, r.TimedOut, r.Exit != nil
	if r.Exit != nil {
		out.ExitCode = r.Exit.Code
	}
	if p, err := client.Peek(ctx, api.PeekRequest{Name: in.Name, Lines: 20}); err == nil {
		out.Text = p.Text
	}
	return nil, out, nil
}

type respondInput struct {
	Name   string `json:"name" jsonschema:"name or id of the session"`
	Action string `json:"action" jsonschema:"the complete label of the option"`
}

func (s *server) respond(ctx context.Context, _ *mcp.CallToolRequest, in respondInput) (*mcp.CallToolResult, done, error) {
	err := s.changing(ctx, in.Name, func(c *client.Client) error {
		return c.Respond(ctx, in.Name, api.RespondRequest{Action: in.Action})
	})
	return nil, done{err == nil}, err
}

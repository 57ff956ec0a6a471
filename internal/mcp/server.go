// Package mcp serves gc to agents that speak the Model Context Protocol:
// durable background commands, and access to sessions.
//
// Its invariant: without Control, a caller changes only its own session and the
// commands it owns; it may read everything else. It serves cmd/gc-mcp, and is
// the only package that knows the protocol's SDK.
package mcp

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gascity.dev/gc/mux/client"
)

// Options configure the server.
type Options struct {
	Version string
	Caller  string   // name of the session that the agent runs in; owner of the commands it starts
	City    string   // directory of the city whose mail is served; "" for none
	Outbox  string   // id of that city in outboxes, if the session was started on another machine than it; else ""
	Control bool     // allow changes to others' sessions
	Env     []string // environment of commands
	Dir     string   // working directory of commands
	// Connect connects to the session server; start means to start one if there
	// is none. It is false for queries that a new server could not answer.
	Connect func(ctx context.Context, start bool) (*client.Client, error)
}

// server implements the tools.
type server struct {
	Options

	mu      sync.Mutex
	started map[string]bool // ids of commands started here by a caller without a name
}

const (
	instructions = `gc runs commands that outlive you and the connection. Call exec for anything that may
take long: it returns after at most yieldMs, with the status "running" and a
sessionId if the command continues. When it ends, a message with the tag
[gc:evt ID] wakes you; do not poll in a loop. Call process for its output (poll,
log), its input (write, submit, keys) and its end (wait, kill).

A message with the tag [gc:mail ID] says that other agents wrote to you: mail_read.`

	// nobody replaces them for a caller without a session.
	nobody = `gc runs commands that outlive you and the connection. Call exec for anything that may
take long: it returns after at most yieldMs, with the status "running" and a
sessionId if the command continues.

WARNING: gc does not know in which session you run, so it can wake nobody: no message
comes when a command ends, or when there is mail. Call process with wait instead. Call
process also for its output (poll, log), its input (write, submit, keys) and its end (kill).`

	execText   = `Run a command. Returns when it ends, or after yieldMs with status "running": then it continues in the background and `
	wakesYou   = "wakes you when it ends."
	wakesNoOne = "wakes NOBODY when it ends: gc does not know your session. Wait for it with process."
)

// Serve speaks the protocol on standard input and output until the input ends
// or ctx is cancelled.
func Serve(ctx context.Context, o Options) error {
	return newServer(o).Run(ctx, newStdio(os.Stdin, os.Stdout))
}

func newServer(o Options) *mcp.Server {
	s := &server{Options: o, started: map[string]bool{}}
	text, wakes := instructions, wakesYou
	if o.Caller == "" {
		text, wakes = nobody, wakesNoOne
	}
	m := mcp.NewServer(&mcp.Implementation{Name: "gc", Title: "gc sessions and background commands", Version: o.Version},
		&mcp.ServerOptions{Instructions: text})
	yes, no := true, false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	changes := &mcp.ToolAnnotations{DestructiveHint: &yes}
	mcp.AddTool(m, &mcp.Tool{
		Name: "exec", Annotations: changes,
		Description: execText + wakes,
		InputSchema: schema[execInput](map[string][]any{"notify": {"auto", "always", "failure", "never"}}),
	}, s.exec)
	mcp.AddTool(m, &mcp.Tool{
		Name: "process", Annotations: changes,
		Description: "Inspect, write to and end background commands: list, poll (new output), log (numbered lines), wait, write, submit (a line), keys, paste, signal, kill, clear (forget an ended one), remove (kill and forget).",
		InputSchema: schema[processInput](map[string][]any{"action": actions(), "format": {"text", "raw", "screen"}}),
	}, s.process)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_list", Annotations: reads, Description: "List the terminal sessions: agents, shells, background commands.",
	}, s.list)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_peek", Annotations: reads, Description: "Read a session's screen, and the history above it.",
	}, s.peek)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_send", Annotations: changes, Description: "Type a message into a session and submit it. The receipt says whether it was submitted.",
	}, s.send)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_wait", Annotations: reads, Description: "Wait until a session is idle, blocked by a question, has ended, or shows given text.",
		InputSchema: schema[waitInput](map[string][]any{"until": {"idle", "blocked", "exit", "text", "quiet"}}),
	}, s.wait)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_respond", Annotations: changes, Description: "Answer a session's question with the label of an option.",
	}, s.respond)
	s.addMail(m, reads)
	return m
}

// schema returns the schema of In, with the allowed values of some fields.
func schema[In any](values map[string][]any) *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: schema of %T: %v", *new(In), err)) // the types are constant
	}
	for field, enum := range values {
		s.Properties[field].Enum = enum
	}
	return s
}

// client connects to a running server.
func (s *server) client(ctx context.Context) (*client.Client, error) { return s.Connect(ctx, false) }

// mayChange returns an error unless the caller may change a session of this
// name and owner.
func (s *server) mayChange(name, owner string) error {
	if s.Control || s.isCaller(name) || s.isCaller(owner) || s.began(name) {
		return nil
	}
	return fmt.Errorf("%s belongs to %q; without --control others' sessions are read-only", name, owner)
}

// isCaller compares a session's name with the caller's. A caller without a name
// owns nothing.
func (s *server) isCaller(name string) bool { return s.Caller != "" && name == s.Caller }

// began reports whether this connection started the command.
func (s *server) began(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started[id]
}

func (s *server) note(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started[id] = true
}

// Package mcp is gc for agents that speak the Model Context Protocol: durable
// background commands, and a look at the sessions.
//
// Its one invariant: without Control, a caller changes only what is its own
// (its session, and the commands that it owns); everything else it may read.
// It serves cmd/gc-mcp, and is the only package that knows the protocol's SDK.
package mcp

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gascity.dev/gc/mux"
)

// Options say who is served and by whom.
type Options struct {
	Version string
	Caller  string   // name of the session that the agent runs in; owner of what it starts
	Control bool     // others' sessions may be changed too
	Env     []string // of the commands that are started
	Dir     string   // where they start
	// Connect reaches the server of the sessions; start says to start one when
	// there is none, and is false where nothing is to be found without one.
	Connect func(ctx context.Context, start bool) (*mux.Client, error)
}

// server answers the tools' calls.
type server struct {
	Options

	mu      sync.Mutex
	started map[string]bool // ids of commands that a caller without a name started here
}

const instructions = `gc runs commands that survive you and the connection. Call exec for anything that may
take long: it answers after yieldMs at the latest, with the status "running" and a
sessionId when the command goes on. You are then woken by a message with the tag
[gc:evt ID] when it ends; do not poll in a loop. Call process for its output (poll,
log), its input (write, submit, keys) and its end (wait, kill).`

// Serve speaks the protocol on standard input and output until the input ends
// or ctx does.
func Serve(ctx context.Context, o Options) error {
	return newServer(o).Run(ctx, newStdio(os.Stdin, os.Stdout))
}

func newServer(o Options) *mcp.Server {
	s := &server{Options: o, started: map[string]bool{}}
	m := mcp.NewServer(&mcp.Implementation{Name: "gc", Title: "gc sessions and background commands", Version: o.Version},
		&mcp.ServerOptions{Instructions: instructions})
	yes, no := true, false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	changes := &mcp.ToolAnnotations{DestructiveHint: &yes}
	mcp.AddTool(m, &mcp.Tool{
		Name: "exec", Annotations: changes,
		Description: "Run a command. Answers at its end, or after yieldMs with status \"running\": it then goes on in the background and wakes you at its end.",
		InputSchema: schema[execInput](map[string][]any{"notify": {"auto", "always", "failure", "never"}}),
	}, s.exec)
	mcp.AddTool(m, &mcp.Tool{
		Name: "process", Annotations: changes,
		Description: "Look at, feed and end background commands: list, poll (new output), log (numbered lines), wait, write, submit (a line), keys, paste, signal, kill, clear (forget an ended one), remove (kill and forget).",
		InputSchema: schema[processInput](map[string][]any{"action": actions(), "format": {"text", "raw", "screen"}}),
	}, s.process)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_list", Annotations: reads, Description: "List the terminal sessions: agents, shells, background commands.",
	}, s.list)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_peek", Annotations: reads, Description: "Read what a session's terminal shows, and its history above.",
	}, s.peek)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_send", Annotations: changes, Description: "Type a message into a session and submit it. The receipt says whether it was submitted.",
	}, s.send)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_wait", Annotations: reads, Description: "Wait until a session is idle, blocked by a question, has ended, or shows a text.",
		InputSchema: schema[waitInput](map[string][]any{"until": {"idle", "blocked", "exit", "text", "quiet"}}),
	}, s.wait)
	mcp.AddTool(m, &mcp.Tool{
		Name: "session_respond", Annotations: changes, Description: "Answer the question that a session asks, by the label of an option.",
	}, s.respond)
	return m
}

// schema is the schema of In, with the values that some fields may have.
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

// client connects to a server that runs.
func (s *server) client(ctx context.Context) (*mux.Client, error) { return s.Connect(ctx, false) }

// mayChange returns an error unless the caller may change a session of this
// name and owner.
func (s *server) mayChange(name, owner string) error {
	if s.Control || s.isCaller(name) || s.isCaller(owner) || s.began(name) {
		return nil
	}
	return fmt.Errorf("%s belongs to %q; without --control others' sessions are read-only", name, owner)
}

// isCaller compares a session's name with the caller's. A caller without one is
// nobody: what has no owner is not its own.
func (s *server) isCaller(name string) bool { return s.Caller != "" && name == s.Caller }

// began reports a command that this connection started.
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

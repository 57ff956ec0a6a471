package mcp

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// Limits of yieldMs.
const (
	yieldDefault = api.Millis(10 * time.Second)
	yieldLeast   = api.Millis(250 * time.Millisecond)
	yieldMost    = api.Millis(30 * time.Second)
)

type execInput struct {
	Command     string            `json:"command,omitempty" jsonschema:"a shell command line; or give argv"`
	Argv        []string          `json:"argv,omitempty" jsonschema:"a program and its arguments, without a shell"`
	Background  bool              `json:"background,omitempty" jsonschema:"return immediately"`
	Yield       api.Millis        `json:"yieldMs,omitzero" jsonschema:"wait this long for the end, then continue in the background; 250 to 30000, default 10000"`
	PTY         bool              `json:"pty,omitempty" jsonschema:"run on a terminal instead of pipes"`
	Cols        int               `json:"cols,omitempty" jsonschema:"columns of the terminal, default 120"`
	Rows        int               `json:"rows,omitempty" jsonschema:"rows of the terminal, default 40"`
	Timeout     api.Millis        `json:"timeoutMs,omitzero" jsonschema:"end it after this long; default 1800000 in the foreground, none in the background"`
	IdleTimeout api.Millis        `json:"idleTimeoutMs,omitzero" jsonschema:"end it after this long without output"`
	Stdin       string            `json:"stdin,omitempty" jsonschema:"initial standard input"`
	EOF         bool              `json:"eof,omitempty" jsonschema:"close its standard input after stdin"`
	WorkDir     string            `json:"cwd,omitempty" jsonschema:"working directory"`
	Env         map[string]string `json:"env,omitempty" jsonschema:"variables added to the environment"`
	Label       string            `json:"label,omitempty" jsonschema:"a name for people"`
	CallID      string            `json:"callId,omitempty" jsonschema:"your own id of this call, reported with the end"`
	Key         string            `json:"idempotencyKey,omitempty" jsonschema:"a second call with the same key starts nothing and returns the first command"`
	Notify      string            `json:"notify,omitempty" jsonschema:"when its end wakes you, default auto"`
}

func (s *server) exec(ctx context.Context, _ *mcp.CallToolRequest, in execInput) (*mcp.CallToolResult, api.ExecResult, error) {
	var out api.ExecResult
	client, err := s.Connect(ctx, true)
	if err != nil {
		return nil, out, err
	}
	defer client.Close()
	yield := in.Yield
	if yield == 0 {
		yield = yieldDefault
	}
	dir := in.WorkDir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Dir, dir)
	}
	known, err := s.keyed(ctx, client, in.Key)
	if err != nil {
		return nil, out, err
	}
	out, err = client.Exec(ctx, api.ExecRequest{
		Command: in.Command, Argv: in.Argv, Background: in.Background, Yield: min(max(yield, yieldLeast), yieldMost),
		PTY: in.PTY, Cols: in.Cols, Rows: in.Rows, Timeout: in.Timeout, IdleTimeout: in.IdleTimeout,
		Stdin: []byte(in.Stdin), EOF: in.EOF, WorkDir: dir, Env: s.environ(in.Env), Label: in.Label,
		Owner: s.Caller, CallID: in.CallID, Key: in.Key, Notify: in.Notify,
	})
	if err == nil && s.Caller == "" && !known[out.ID] {
		s.note(out.ID)
	}
	return nil, out, err
}

// keyed returns the commands that a key may refer to, for a caller without a
// name: knowing a command's key does not make it the caller's.
func (s *server) keyed(ctx context.Context, c *client.Client, key string) (map[string]bool, error) {
	if key == "" || s.Caller != "" {
		return nil, nil
	}
	list, err := c.ProcessList(ctx, "", true)
	known := make(map[string]bool, len(list))
	for _, p := range list {
		known[p.ID] = true
	}
	return known, err
}

func (s *server) environ(more map[string]string) []string {
	env := slices.DeleteFunc(slices.Clone(s.Env), func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		_, replaced := more[k]
		return replaced
	})
	for _, k := range slices.Sorted(maps.Keys(more)) {
		env = append(env, k+"="+more[k])
	}
	return env
}

type processInput struct {
	Action  string      `json:"action" jsonschema:"what to do"`
	ID      string      `json:"id,omitempty" jsonschema:"sessionId of the command; required except for list"`
	Cursor  *uint64     `json:"cursor,omitempty" jsonschema:"poll: where the new output begins; acknowledges output before it"`
	Wait    api.Millis  `json:"waitMs,omitzero" jsonschema:"poll: wait this long for output or the end, 30000 at most"`
	Timeout api.Millis  `json:"timeoutMs,omitzero" jsonschema:"wait: timeout, default 30000"`
	Offset  uint64      `json:"offset,omitempty" jsonschema:"log: number of the first line"`
	Limit   int         `json:"limit,omitempty" jsonschema:"log: maximum number of lines, default 200"`
	Tail    int         `json:"tail,omitempty" jsonschema:"log: number of lines from the end"`
	Match   string      `json:"match,omitempty" jsonschema:"log: only lines that match this RE2 pattern"`
	Format  string      `json:"format,omitempty" jsonschema:"log: default text"`
	Data    string      `json:"data,omitempty" jsonschema:"write, submit, paste: the text"`
	EOF     bool        `json:"eof,omitempty" jsonschema:"write: close the input after it"`
	Keys    []string    `json:"keys,omitempty" jsonschema:"keys: names such as Up, Enter, C-c"`
	Signal  string      `json:"signal,omitempty" jsonschema:"signal: such as TERM"`
	Grace   *api.Millis `json:"graceMs,omitempty" jsonschema:"kill: time between TERM and KILL, default 5000"`
	All     bool        `json:"all,omitempty" jsonschema:"list: include other owners' and ended commands"`
}

// done is the result of an action that has no other.
type done struct {
	OK bool `json:"ok"`
}

// processAction is one action of the tool process.
type processAction struct {
	changes bool // it changes the command
	act     func(ctx context.Context, s *server, c *client.Client, in processInput) (any, error)
}

// processWait is the default timeout of the action wait.
const processWait = 30 * time.Second

// ok makes an action without a result.
func ok(f func(ctx context.Context, c *client.Client, in processInput) error) processAction {
	return processAction{true, func(ctx context.Context, _ *server, c *client.Client, in processInput) (any, error) {
		return done{true}, f(ctx, c, in)
	}}
}

var processActions = map[string]processAction{
	"poll": {false, func(ctx context.Context, s *server, c *client.Client, in processInput) (any, error) {
		return c.ProcessPoll(ctx, in.ID, api.PollRequest{Cursor: in.Cursor, Wait: in.Wait, Caller: s.Caller})
	}},
	"wait": {false, func(ctx context.Context, s *server, c *client.Client, in processInput) (any, error) {
		limit := time.Duration(in.Timeout)
		if limit <= 0 {
			limit = processWait
		}
		return c.ProcessWait(ctx, in.ID, s.Caller, limit)
	}},
	"log": {false, func(ctx context.Context, _ *server, c *client.Client, in processInput) (any, error) {
		return c.ProcessLog(ctx, in.ID, api.LogRequest{Offset: in.Offset, Limit: in.Limit, Tail: in.Tail, Match: in.Match, Format: in.Format})
	}},
	"kill": {true, func(ctx context.Context, s *server, c *client.Client, in processInput) (any, error) {
		grace := 5 * time.Second
		if in.Grace != nil {
			grace = time.Duration(max(0, *in.Grace))
		}
		return c.ProcessKill(ctx, in.ID, s.Caller, grace)
	}},
	"write": ok(func(ctx context.Context, c *client.Client, in processInput) error {
		return c.ProcessWrite(ctx, in.ID, api.WriteRequest{Data: []byte(in.Data), EOF: in.EOF})
	}),
	"submit": ok(func(ctx context.Context, c *client.Client, in processInput) error {
		return c.ProcessWrite(ctx, in.ID, api.WriteRequest{Data: []byte(in.Data), Submit: true})
	}),
	"keys": ok(func(ctx context.Context, c *client.Client, in processInput) error {
		return c.ProcessKeys(ctx, in.ID, in.Keys, false)
	}),
	"paste": ok(func(ctx context.Context, c *client.Client, in processInput) error {
		return c.ProcessPaste(ctx, in.ID, []byte(in.Data))
	}),
	"signal": ok(func(ctx context.Context, c *client.Client, in processInput) error {
		return c.ProcessSignal(ctx, in.ID, in.Signal)
	}),
	"clear": ok(func(ctx context.Context, c *client.Client, in processInput) error {
		return c.ProcessRemove(ctx, in.ID, false)
	}),
	"remove": ok(func(ctx context.Context, c *client.Client, in processInput) error {
		return c.ProcessRemove(ctx, in.ID, true)
	}),
}

// actions returns the names of all actions.
func actions() []any {
	all := []any{"list"}
	for _, name := range slices.Sorted(maps.Keys(processActions)) {
		all = append(all, name)
	}
	return all
}

func (s *server) process(ctx context.Context, _ *mcp.CallToolRequest, in processInput) (*mcp.CallToolResult, any, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	if in.Action == "list" {
		owner := s.Caller
		if in.All {
			owner = ""
		}
		all, err := client.ProcessList(ctx, owner, in.All)
		return nil, map[string]any{"processes": all}, err
	}
	a, known := processActions[in.Action]
	if !known || in.ID == "" {
		return nil, nil, fmt.Errorf("action (%v) and id are required", actions())
	}
	if a.changes {
		p, err := client.Process(ctx, in.ID)
		if err != nil {
			return nil, nil, err
		}
		if err := s.mayChange(in.ID, p.Owner); err != nil {
			return nil, nil, err
		}
	}
	out, err := a.act(ctx, s, client, in)
	return nil, out, err
}

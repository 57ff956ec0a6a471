// Package sessionop serves the exec session protocol (docs/exec-protocol.md) over
// the multiplexer: one call carries out one operation on one session.
//
// Its invariant: the exit statuses and the output are the protocol's. A caller
// sees only the sessions that were started through session-op in its own scope,
// under the names it gave them. It reads no config: callers call it many times a
// second.
package sessionop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// Exit statuses are those of the protocol. 2 means that an operation does not
// exist, so wrong usage is 1.
const (
	statusFailed         = 1
	statusNotImplemented = 2
	statusTemporary      = 75 // of start; EX_TEMPFAIL of sysexits.h
	statusTimeout        = 124
)

// Options are the streams of a call and what gc is.
type Options struct {
	In       io.Reader
	Out, Err io.Writer
	Program  string // the name that gc was called by
	Version  string
}

// Operations are the names of the operations, sorted.
func Operations() []string {
	words := append(slices.Collect(maps.Keys(operations())), "list-running", "protocol")
	slices.Sort(words)
	return words
}

// operation is what a word of the protocol does.
type operation struct {
	least, most int // arguments after the name; most < 0: no limit
	run         func(c *call) error
}

func operations() map[string]operation {
	return map[string]operation{
		"start":             {0, 0, opStart},
		"stop":              {0, 0, opStop},
		"interrupt":         {0, 0, opInput(func(c *call) error { return c.p.Interrupt(c.ctx, c.name) })},
		"is-running":        {0, 0, func(c *call) error { return c.printBool(c.p.IsRunning(c.ctx, c.name)) }},
		"is-attached":       {0, 0, func(c *call) error { return c.printBool(c.p.IsAttached(c.ctx, c.name)) }},
		"attach":            {0, 0, opAttach},
		"process-alive":     {0, 0, opProcessAlive},
		"nudge":             {0, 0, opNudge},
		"send-keys":         {0, -1, opInput(func(c *call) error { return c.p.SendKeys(c.ctx, c.name, c.args...) })},
		"set-meta":          {1, 1, opSetMeta},
		"get-meta":          {1, 1, opGetMeta},
		"remove-meta":       {1, 1, func(c *call) error { return c.p.RemoveMeta(c.ctx, c.name, c.args[0]) }},
		"peek":              {0, 1, opPeek},
		"clear-scrollback":  {0, 0, opInput(func(c *call) error { return c.p.ClearScrollback(c.ctx, c.name) })},
		"get-last-activity": {0, 0, opActivity},
		"copy-to":           {1, 2, copyFileTo},
		"run-live":          {0, 0, opRunLive},
		"relaunch":          {0, 0, opRelaunch},
		"exec":              {0, 0, opExec},
		"provision":         {0, 0, opProvision},
		"wait-idle":         {1, 1, opWaitIdle},
		"last-exit":         {0, 0, opLastExit},
	}
}

// call is one call of an operation.
type call struct {
	Options
	ctx   context.Context
	p     *native.Provider
	name  string // of the multiplexer
	label string // of the caller
	args  []string
}

// statusError ends a call with a status; err may be nil.
type statusError struct {
	status int
	err    error
}

func (s *statusError) Error() string { return fmt.Sprintf("exit status %d: %v", s.status, s.err) }

// Run carries out one operation. It returns the exit status, and the error to
// print if there is one.
func Run(ctx context.Context, o Options, args []string) (status int, err error) {
	err = run(ctx, o, args)
	if err == nil {
		return 0, nil
	}
	var s *statusError
	if errors.As(err, &s) {
		return s.status, s.err
	}
	return statusFailed, err
}

func run(ctx context.Context, o Options, args []string) error {
	if len(args) == 0 {
		return errors.New("session-op: requires an operation")
	}
	word, args := args[0], args[1:]
	switch word {
	case "protocol":
		return opProtocol(o)
	case "list-running":
		return opListRunning(ctx, o, args)
	}
	op, ok := operations()[word]
	if !ok {
		return &statusError{statusNotImplemented, fmt.Errorf("session-op: no operation %q", word)}
	}
	if len(args) == 0 {
		return fmt.Errorf("session-op %s: requires the name of a session", word)
	}
	name, args := args[0], args[1:]
	if len(args) < op.least || op.most >= 0 && len(args) > op.most {
		return fmt.Errorf("session-op %s %s: wrong number of arguments: %d", word, name, len(args))
	}
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("session-op %s: %w", word, err)
	}
	p, err := native.New(native.Options{Version: o.Version})
	if err != nil {
		return err
	}
	c := &call{Options: o, ctx: ctx, p: p, label: name, args: args}
	if c.name, err = scopeOf(os.Getenv).resolve(ctx, p, name); err != nil {
		return err
	}
	return c.inCallersWords(op.run(c))
}

// inCallersWords replaces the multiplexer's name of the session in an error
// with the caller's.
func (c *call) inCallersWords(err error) error {
	if err == nil || !strings.Contains(err.Error(), c.name) {
		return err
	}
	status := &statusError{statusFailed, err}
	errors.As(err, &status)
	return &statusError{status.status, errors.New(strings.ReplaceAll(status.err.Error(), c.name, c.label))}
}

func (c *call) printBool(v bool, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Out, v)
	return err
}

// maxStdin is the longest value, in bytes.
const maxStdin = 16 << 20

// stdin reads the value of the call from standard input.
func (c *call) stdin() ([]byte, error) {
	if f, ok := c.In.(*os.File); ok && f == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(c.In, maxStdin+1))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if len(data) > maxStdin {
		return nil, fmt.Errorf("standard input has more than %d bytes", maxStdin)
	}
	return data, nil
}

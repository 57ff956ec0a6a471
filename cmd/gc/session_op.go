package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

const sessionOpName = "session-op"

// Exit statuses of session-op are those of the exec session protocol: a caller
// takes 2 for an operation that does not exist, so that wrong usage must not be
// it.
const (
	opDone           = 0
	opFailed         = 1
	opNotImplemented = 2
	opTemporary      = 75 // of start; EX_TEMPFAIL of sysexits.h
)

func newSessionOpCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:                sessionOpName + " OPERATION [NAME [ARG…]]",
		Short:              "Serve the exec session protocol over the multiplexer",
		DisableFlagParsing: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				words := append(slices.Sorted(maps.Keys(sessionOps())), "list-running", "protocol")
				words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, word) })
				return words, cobra.ShellCompDirectiveNoFileComp
			case 1:
				return sessionScope(a).complete(cmd, nil, word)
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if wantsHelp(args) {
				return cmd.Help()
			}
			if status := runSessionOp(cmd.Context(), a, args); status != opDone {
				return quiet(status)
			}
			return nil
		},
	}
	cmd.AddCommand(newSessionOpCheckCmd(a))
	return describe(cmd, `Carries out one operation of the exec session protocol (docs/exec-protocol.md)
on a session of the multiplexer, for programs that host their sessions through a
script. contrib/session-scripts/gc-session-native is such a script. Values come
from standard input and results go to standard output.

Operations: protocol; list-running PREFIX; and with the NAME of a session start,
stop, interrupt, is-running, is-attached, attach, process-alive, nudge,
send-keys KEY…, set-meta KEY, get-meta KEY, remove-meta KEY, peek LINES,
clear-scrollback, get-last-activity, copy-to SRC REL_DST, run-live, relaunch,
exec, provision, wait-idle SECONDS, last-exit.`, `
		echo '{"command":"make -j4"}' | gc session-op start build
		gc session-op is-running build
		gc session-op peek build 120`,
		statuses{exitFailure: "failure, wrong usage included", exitUsage: "there is no such operation"})
}

// wantsHelp reports whether the arguments only ask what the command is.
func wantsHelp(args []string) bool {
	return len(args) > 0 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help")
}

// wantsCheck reports whether the arguments ask for a check of a script, which is
// a command of its own.
func wantsCheck(args []string) bool { return len(args) > 0 && args[0] == checkName }

// sessionOp is one operation.
type sessionOp struct {
	least, most int // arguments after the name; most < 0: no limit
	run         func(c *opCall) error
}

func sessionOps() map[string]sessionOp {
	return map[string]sessionOp{
		"start":             {0, 0, opStart},
		"stop":              {0, 0, opStop},
		"interrupt":         {0, 0, opInput(func(c *opCall) error { return c.p.Interrupt(c.ctx, c.name) })},
		"is-running":        {0, 0, func(c *opCall) error { return c.printBool(c.p.IsRunning(c.ctx, c.name)) }},
		"is-attached":       {0, 0, func(c *opCall) error { return c.printBool(c.p.IsAttached(c.ctx, c.name)) }},
		"attach":            {0, 0, opAttach},
		"process-alive":     {0, 0, opProcessAlive},
		"nudge":             {0, 0, opNudge},
		"send-keys":         {0, -1, opInput(func(c *opCall) error { return c.p.SendKeys(c.ctx, c.name, c.args...) })},
		"set-meta":          {1, 1, opSetMeta},
		"get-meta":          {1, 1, opGetMeta},
		"remove-meta":       {1, 1, func(c *opCall) error { return c.p.RemoveMeta(c.ctx, c.name, c.args[0]) }},
		"peek":              {0, 1, opPeek},
		"clear-scrollback":  {0, 0, opInput(func(c *opCall) error { return c.p.ClearScrollback(c.ctx, c.name) })},
		"get-last-activity": {0, 0, opActivity},
		"copy-to":           {1, 2, opCopyTo},
		"run-live":          {0, 0, opRunLive},
		"relaunch":          {0, 0, opRelaunch},
		"exec":              {0, 0, opExec},
		"provision":         {0, 0, opProvision},
		"wait-idle":         {1, 1, opWaitIdle},
		"last-exit":         {0, 0, opLastExit},
	}
}

// opCall is one call of an operation.
type opCall struct {
	*app
	ctx   context.Context
	p     *native.Provider
	name  string // of the multiplexer
	label string // of the caller
	args  []string
}

// opStatus ends a call with a status; a message may come with it.
type opStatus struct {
	status int
	err    error // nil: nothing is to be said
}

func (s *opStatus) Error() string { return fmt.Sprintf("exit status %d: %v", s.status, s.err) }

// runSessionOp carries out one operation and returns the exit status. It is
// called many times a second and reads no config.
func runSessionOp(ctx context.Context, a *app, args []string) int {
	err := sessionOpError(ctx, a, args)
	if err == nil {
		return opDone
	}
	status := opFailed
	var s *opStatus
	if errors.As(err, &s) {
		status, err = s.status, s.err
	}
	if err != nil {
		printError(a.err, err.Error(), "")
	}
	return status
}

func sessionOpError(ctx context.Context, a *app, args []string) error {
	if len(args) == 0 {
		return errors.New("session-op: which operation?")
	}
	word, args := args[0], args[1:]
	switch word {
	case "protocol":
		return opProtocol(a)
	case "list-running":
		return opListRunning(ctx, a, args)
	}
	op, ok := sessionOps()[word]
	if !ok {
		return &opStatus{opNotImplemented, fmt.Errorf("session-op: no operation %q", word)}
	}
	if len(args) == 0 {
		return fmt.Errorf("session-op %s: the session's name is missing", word)
	}
	name, args := args[0], args[1:]
	if len(args) < op.least || op.most >= 0 && len(args) > op.most {
		return fmt.Errorf("session-op %s %s: %d more arguments are wrong", word, name, len(args))
	}
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("session-op %s: %w", word, err)
	}
	p, err := native.New(native.Options{Version: version})
	if err != nil {
		return err
	}
	c := &opCall{app: a, ctx: ctx, p: p, label: name, args: args}
	if c.name, err = opScopeOf(os.Getenv).resolve(ctx, p, name); err != nil {
		return err
	}
	return c.inCallersWords(op.run(c))
}

// inCallersWords names the session as the caller does.
func (c *opCall) inCallersWords(err error) error {
	if err == nil || !strings.Contains(err.Error(), c.name) {
		return err
	}
	status := &opStatus{opFailed, err}
	errors.As(err, &status)
	return &opStatus{status.status, errors.New(strings.ReplaceAll(status.err.Error(), c.name, c.label))}
}

func (c *opCall) printBool(v bool, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, v)
	return err
}

// maxStdin bounds a value; more is an error.
const maxStdin = 16 << 20

// stdin reads the call's value.
func (c *opCall) stdin() ([]byte, error) {
	if f, ok := c.in.(*os.File); ok && f == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(c.in, maxStdin+1))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if len(data) > maxStdin {
		return nil, fmt.Errorf("standard input has more than %d bytes", maxStdin)
	}
	return data, nil
}

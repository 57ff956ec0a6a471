package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keys"
)

var processStatuses = statuses{exitNotFound: "no such command", exitCannotTell: ""}

func newProcessLogCmd(a *app) *cobra.Command {
	var r api.LogRequest
	var number, asJSON bool
	cmd := &cobra.Command{
		Use:               "log ID",
		Short:             "Print lines of the output",
		Args:              exactly(1),
		ValidArgsFunction: a.completeProcesses,
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.ProcessLog(ctx, args[0], r)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(res)
			}
			return a.printLog(res, r.Format, number)
		}),
	}
	f := cmd.Flags()
	f.Uint64Var(&r.Offset, "offset", 0, "number of the first line")
	f.IntVar(&r.Limit, "limit", 0, "lines at most (default 200)")
	f.IntVar(&r.Tail, "tail", 0, "the last so many lines")
	f.StringVar(&r.Match, "match", "", "only lines that match this RE2 pattern")
	f.StringVar(&r.Format, "format", api.FormatText, "text, raw, screen")
	f.BoolVarP(&number, "number", "n", false, "with line numbers")
	f.BoolVar(&asJSON, "json", false, "as JSON, with what is needed to go on")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{api.FormatText, api.FormatRaw, api.FormatScreen}, cobra.ShellCompDirectiveNoFileComp))
	return describe(cmd, `Prints the last 200 lines, or those from --offset on. Lines are numbered from 1, and
a number never shifts. As text a line is what a terminal would show of it, so that
a progress bar is one line; raw is every byte (escaped when standard output is a
terminal); screen is what the command's terminal shows now.`, `
		gc process log ID --tail 20
		gc process log ID --match 'error|FAIL' -n
		gc process log ID --offset 1000 --limit 100 --json`, processStatuses)
}

// printLog prints a page.
func (a *app) printLog(res api.LogResult, format string, number bool) error {
	var b strings.Builder
	if format == api.FormatScreen {
		fmt.Fprintln(&b, display.Text(res.Screen))
	}
	terminal := a.width() > 0
	for _, l := range res.Lines {
		text := display.Text(l.Text)
		if format == api.FormatRaw {
			if text = string(l.Data); terminal {
				text = display.Text(text)
			}
		}
		if l.Missing > 0 {
			text = fmt.Sprintf("[gc: %d bytes are not kept]", l.Missing)
		}
		if number {
			fmt.Fprintf(&b, "%d\t", l.N)
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	_, err := fmt.Fprint(a.out, b.String())
	return err
}

// processText is the text of a command line: its second argument, or standard
// input.
func (a *app) processText(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 1 && args[1] != "-" {
		return args[1], nil
	}
	if len(args) == 1 && a.interactive() {
		return "", usageError(cmd, "no text: give it as an argument, or pipe it in")
	}
	return a.readMessage()
}

func newProcessWriteCmd(a *app) *cobra.Command {
	var eof bool
	cmd := &cobra.Command{
		Use:               "write ID [TEXT|-]",
		Short:             "Write to the standard input, as it is",
		Args:              between(1, 2),
		ValidArgsFunction: a.completeProcesses,
	}
	cmd.Flags().BoolVar(&eof, "eof", false, "then close the input; without TEXT only that")
	cmd.RunE = a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
		text, err := "", error(nil)
		if !eof || len(args) > 1 {
			if text, err = a.processText(cmd, args); err != nil {
				return err
			}
		}
		return c.ProcessWrite(ctx, args[0], api.WriteRequest{Data: []byte(text), EOF: eof})
	})
	return describe(cmd, "Writes the text and adds nothing. Without TEXT, and for -, it is read from standard\ninput. It waits until the command has taken all of it.", `
		gc process write ID 'half a '
		gc process write ID - < data && gc process write ID --eof`, processStatuses)
}

func newProcessSubmitCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "submit ID [TEXT]",
		Short:             "Write a line",
		Args:              between(1, 2),
		ValidArgsFunction: a.completeProcesses,
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			text := strings.Join(args[1:], "")
			return c.ProcessWrite(ctx, args[0], api.WriteRequest{Data: []byte(text), Submit: true})
		}),
	}
	return describe(cmd, "Writes the text and what ends a line: LF, on a terminal CR.", "gc process submit ID yes", processStatuses)
}

func newProcessKeysCmd(a *app) *cobra.Command {
	var literal bool
	cmd := &cobra.Command{
		Use:               "keys ID KEY...",
		Short:             "Press keys",
		Args:              between(2, -1),
		ValidArgsFunction: a.completeProcessThen(append(keys.Names(), "C-c", "C-d")...),
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			return c.ProcessKeys(ctx, args[0], args[1:], literal)
		}),
	}
	cmd.Flags().BoolVar(&literal, "literal", false, "the arguments are text, not names of keys")
	return describe(cmd, "Presses keys by name, as gc keys does. Without a terminal Enter is LF.", "gc process keys ID Up Enter",
		processStatuses)
}

func newProcessPasteCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "paste ID [TEXT|-]",
		Short:             "Paste text without submitting it",
		Args:              between(1, 2),
		ValidArgsFunction: a.completeProcesses,
	}
	cmd.RunE = a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
		text, err := a.processText(cmd, args)
		if err != nil {
			return err
		}
		return c.ProcessPaste(ctx, args[0], []byte(text))
	})
	return describe(cmd, "Pastes the text as one paste, bracketed when the program asked for that.", "gc process paste ID < snippet.txt",
		processStatuses)
}

func newProcessSignalCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "signal ID SIGNAL",
		Short:             "Send a signal",
		Args:              exactly(2),
		ValidArgsFunction: a.completeProcessThen("HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "TSTP", "WINCH"),
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			return c.ProcessSignal(ctx, args[0], args[1])
		}),
	}
	return describe(cmd, "Sends a signal to the command's foreground process group.", "gc process signal ID USR1", processStatuses)
}

// onEach makes a command that acts on several ids.
func (a *app) onEach(act func(ctx context.Context, c *client.Client, id string) error) runE {
	return a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
		for _, id := range args {
			if err := act(ctx, c, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func newProcessKillCmd(a *app) *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:               "kill ID...",
		Short:             "End commands with everything that runs in them",
		Args:              between(1, -1),
		ValidArgsFunction: a.completeEveryProcess,
		RunE: a.onEach(func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.ProcessKill(ctx, id, callerName(), grace)
			return err
		}),
	}
	cmd.Flags().DurationVar(&grace, "grace", 5*time.Second, "between TERM and KILL")
	return describe(cmd, "Ends the whole process tree and returns when the end is written down. One that has\nended already stays as it is.", "gc process kill ID",
		processStatuses)
}

func newProcessClearCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "clear ID...",
		Short:             "Forget commands that have ended",
		Args:              between(1, -1),
		ValidArgsFunction: a.completeEveryProcess,
		RunE: a.onEach(func(ctx context.Context, c *client.Client, id string) error {
			err := c.ProcessRemove(ctx, id, false)
			if errors.Is(err, api.ErrBusy) {
				return fail(exitFailure, "gc process kill "+id+" ends it, gc process remove forgets it too", "background command %s still runs", id)
			}
			return err
		}),
	}
	return describe(cmd, "Forgets ended commands and their output. A message about the end that was not\ndelivered yet is not delivered any more.", "gc process clear ID",
		statuses{exitFailure: "failure: it still runs …", exitNotFound: "no such command", exitCannotTell: ""})
}

func newProcessRemoveCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "remove ID...",
		Short:             "End commands if they run, and forget them",
		Args:              between(1, -1),
		ValidArgsFunction: a.completeEveryProcess,
		RunE:              a.onEach(func(ctx context.Context, c *client.Client, id string) error { return c.ProcessRemove(ctx, id, true) }),
	}
	return describe(cmd, "Kills what still runs, and forgets the commands and their output.", "gc process remove ID", processStatuses)
}

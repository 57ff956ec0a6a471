package background

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keys"
)

var processStatuses = cli.Statuses{cli.ExitNotFound: "no such command", cli.ExitCannotTell: ""}

func newProcessLogCmd(a *commands) *cobra.Command {
	var r api.LogRequest
	var number, asJSON bool
	cmd := &cobra.Command{
		Use:               "log ID",
		Short:             "Print lines of the output",
		Args:              cli.Exactly(1),
		ValidArgsFunction: a.completeProcesses,
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.ProcessLog(ctx, args[0], r)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(res)
			}
			return a.printLog(res, r.Format, number)
		}),
	}
	f := cmd.Flags()
	f.Uint64Var(&r.Offset, "offset", 0, "start at this `LINE`")
	f.IntVar(&r.Limit, "limit", 0, "print at most `N` lines (default 200)")
	f.IntVar(&r.Tail, "tail", 0, "print the last `N` lines")
	f.StringVar(&r.Match, "match", "", "print only lines that match this regular expression `RE` (RE2)")
	f.StringVar(&r.Format, "format", api.FormatText, "print this `FORMAT`: text, raw or screen")
	f.BoolVarP(&number, "number", "n", false, "print line numbers")
	f.BoolVar(&asJSON, "json", false, "print JSON, with the offset of the next page")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{api.FormatText, api.FormatRaw, api.FormatScreen}, cobra.ShellCompDirectiveNoFileComp))
	return cli.Describe(cmd, `Prints the last 200 lines, or those from --offset on. Line numbers start at 1 and never
change. The format text prints each line as a terminal would show it, so a progress bar
is one line; raw prints every byte (escaped on a terminal); screen prints the current
screen of the command's terminal.`, `
		gc process log ID --tail 20
		gc process log ID --match 'error|FAIL' -n
		gc process log ID --offset 1000 --limit 100 --json`, processStatuses)
}

// printLog prints a page of output.
func (a *commands) printLog(res api.LogResult, format string, number bool) error {
	var b strings.Builder
	if format == api.FormatScreen {
		fmt.Fprintln(&b, display.Text(res.Screen))
	}
	terminal := a.Width() > 0
	for _, l := range res.Lines {
		text := display.Text(l.Text)
		if format == api.FormatRaw {
			if text = string(l.Data); terminal {
				text = display.Text(text)
			}
		}
		if l.Missing > 0 {
			text = fmt.Sprintf("[gc: %d bytes were dropped]", l.Missing)
		}
		if number {
			fmt.Fprintf(&b, "%d\t", l.N)
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}

// processText is the text argument, or standard input.
func (a *commands) processText(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 1 && args[1] != "-" {
		return args[1], nil
	}
	if len(args) == 1 && a.Interactive() {
		return "", cli.UsageError(cmd, "requires text, as an argument or on standard input")
	}
	return a.ReadMessage()
}

func newProcessWriteCmd(a *commands) *cobra.Command {
	var eof bool
	cmd := &cobra.Command{
		Use:               "write ID [TEXT|-]",
		Short:             "Write text to the standard input",
		Args:              cli.Between(1, 2),
		ValidArgsFunction: a.completeProcesses,
	}
	cmd.Flags().BoolVar(&eof, "eof", false, "close the input afterwards; TEXT may be omitted")
	cmd.RunE = a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
		text, err := "", error(nil)
		if !eof || len(args) > 1 {
			if text, err = a.processText(cmd, args); err != nil {
				return err
			}
		}
		return c.ProcessWrite(ctx, args[0], api.WriteRequest{Data: []byte(text), EOF: eof})
	})
	return cli.Describe(cmd, "Writes the text without a newline. Without TEXT, or with -, it copies standard input.\nReturns when the command has accepted all of it.", `
		gc process write ID 'half a '
		gc process write ID - < data && gc process write ID --eof`, processStatuses)
}

func newProcessSubmitCmd(a *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "submit ID [TEXT]",
		Short:             "Write a line to the standard input",
		Args:              cli.Between(1, 2),
		ValidArgsFunction: a.completeProcesses,
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			text := strings.Join(args[1:], "")
			return c.ProcessWrite(ctx, args[0], api.WriteRequest{Data: []byte(text), Submit: true})
		}),
	}
	return cli.Describe(cmd, "Writes the text and a line end: LF, or CR on a terminal.", "gc process submit ID yes", processStatuses)
}

func newProcessKeysCmd(a *commands) *cobra.Command {
	var literal bool
	cmd := &cobra.Command{
		Use:               "keys ID KEY...",
		Short:             "Press keys by name",
		Args:              cli.Between(2, -1),
		ValidArgsFunction: a.completeProcessThen(append(keys.Names(), "C-c", "C-d")...),
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			return c.ProcessKeys(ctx, args[0], args[1:], literal)
		}),
	}
	cmd.Flags().BoolVar(&literal, "literal", false, "send the arguments as text, not as key names")
	return cli.Describe(cmd, "Presses keys by name, as gc keys does. Without a terminal, Enter is LF.", "gc process keys ID Up Enter",
		processStatuses)
}

func newProcessPasteCmd(a *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "paste ID [TEXT|-]",
		Short:             "Paste text without submitting it",
		Args:              cli.Between(1, 2),
		ValidArgsFunction: a.completeProcesses,
	}
	cmd.RunE = a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
		text, err := a.processText(cmd, args)
		if err != nil {
			return err
		}
		return c.ProcessPaste(ctx, args[0], []byte(text))
	})
	return cli.Describe(cmd, "Pastes the text, bracketed if the program asked for that.", "gc process paste ID < snippet.txt",
		processStatuses)
}

func newProcessSignalCmd(a *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "signal ID SIGNAL",
		Short:             "Send a signal to a command",
		Args:              cli.Exactly(2),
		ValidArgsFunction: a.completeProcessThen("HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "TSTP", "WINCH"),
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			return c.ProcessSignal(ctx, args[0], args[1])
		}),
	}
	return cli.Describe(cmd, "Sends the signal to the command's foreground process group.", "gc process signal ID USR1", processStatuses)
}

// onEach runs act with each id.
func (a *commands) onEach(act func(ctx context.Context, c *client.Client, id string) error) cli.RunE {
	return a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
		for _, id := range args {
			if err := act(ctx, c, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func newProcessKillCmd(a *commands) *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:               "kill ID...",
		Short:             "End commands and all their processes",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.completeEveryProcess,
		RunE: a.onEach(func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.ProcessKill(ctx, id, callerName(), grace)
			return err
		}),
	}
	cmd.Flags().DurationVar(&grace, "grace", 5*time.Second, "time between TERM and KILL")
	return cli.Describe(cmd, "Ends the whole process tree and returns when the end is recorded. It does nothing to an\nended command.", "gc process kill ID",
		processStatuses)
}

func newProcessClearCmd(a *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "clear ID...",
		Short:             "Delete ended commands",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.completeEveryProcess,
		RunE: a.onEach(func(ctx context.Context, c *client.Client, id string) error {
			err := c.ProcessRemove(ctx, id, false)
			if errors.Is(err, api.ErrBusy) {
				return cli.Fail(cli.ExitFailure, "gc process kill "+id+" ends it; gc process remove also deletes it", "background command %s is still running", id)
			}
			return err
		}),
	}
	return cli.Describe(cmd, "Deletes ended commands and their output, and undelivered messages about their end.", "gc process clear ID",
		cli.Statuses{cli.ExitFailure: "failure, such as: the command is still running", cli.ExitNotFound: "no such command", cli.ExitCannotTell: ""})
}

func newProcessRemoveCmd(a *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "remove ID...",
		Short:             "End commands if they are running, and delete them",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.completeEveryProcess,
		RunE:              a.onEach(func(ctx context.Context, c *client.Client, id string) error { return c.ProcessRemove(ctx, id, true) }),
	}
	return cli.Describe(cmd, "Kills the commands that are still running, and deletes all of them with their output.", "gc process remove ID", processStatuses)
}

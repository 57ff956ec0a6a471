package background

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// NewProcess returns gc process.
func NewProcess(c *cli.Console, m *host.Mux) *cobra.Command {
	a := &commands{c, m}
	cmd := a.Group("process", "Inspect, feed and end background commands",
		`gc exec starts background commands and prints their ids. A command is also a session:
gc session peek, attach and wait accept its id. Its output is kept on disk (the first
MiB and the last 7 MiB) with fixed line numbers.`, `
		gc process list
		gc process log ID --tail 50
		gc process wait ID --timeout 5m`,
		[]cli.Entry{
			{Name: "list", Make: func() *cobra.Command { return newProcessListCmd(a) }},
			{Name: "poll", Make: func() *cobra.Command { return newProcessPollCmd(a) }},
			{Name: "log", Make: func() *cobra.Command { return newProcessLogCmd(a) }},
			{Name: "wait", Make: func() *cobra.Command { return newProcessWaitCmd(a) }},
			{Name: "write", Make: func() *cobra.Command { return newProcessWriteCmd(a) }},
			{Name: "submit", Make: func() *cobra.Command { return newProcessSubmitCmd(a) }},
			{Name: "keys", Make: func() *cobra.Command { return newProcessKeysCmd(a) }},
			{Name: "paste", Make: func() *cobra.Command { return newProcessPasteCmd(a) }},
			{Name: "signal", Make: func() *cobra.Command { return newProcessSignalCmd(a) }},
			{Name: "kill", Make: func() *cobra.Command { return newProcessKillCmd(a) }},
			{Name: "clear", Make: func() *cobra.Command { return newProcessClearCmd(a) }},
			{Name: "remove", Make: func() *cobra.Command { return newProcessRemoveCmd(a) }},
		})
	a.mux.AddFlag(cmd)
	return cmd
}

// callerName is the session of the caller. An owner that sees the end of its command
// this way gets no message about it.
func callerName() string { return os.Getenv("GC_SESSION_NAME") }

// onProcess runs act with a client and the arguments; the first is an id.
func (a *commands) onProcess(act func(ctx context.Context, c *client.Client, args []string) error) cli.RunE {
	return func(cmd *cobra.Command, args []string) error {
		client, err := a.mux.Dial(cmd.Context())
		if host.IsNoServer(err) && len(args) > 0 {
			err = fmt.Errorf("%w: background command %s", api.ErrNotFound, args[0])
		}
		if err == nil {
			defer client.Close()
			err = act(cmd.Context(), client, args)
		}
		if errors.Is(err, api.ErrExited) {
			return cli.Fail(cli.ExitFailure, "gc process poll "+args[0], "background command %s has ended or closed its input", args[0])
		}
		if errors.Is(err, api.ErrNotFound) {
			return cli.Fail(cli.ExitNotFound, "gc process list", "%v", strings.TrimPrefix(err.Error(), api.ErrNotFound.Error()+": ")+" does not exist")
		}
		return err
	}
}

// completeProcesses completes the first argument with the ids of background
// commands.
func (a *commands) completeProcesses(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeEveryProcess(cmd, args, prefix)
}

// completeEveryProcess completes every argument with ids that are not given yet.
func (a *commands) completeEveryProcess(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteLimit)
	defer cancel()
	client, err := a.mux.Dial(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer client.Close()
	all, err := client.ProcessList(ctx, "", true)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, p := range all {
		if strings.HasPrefix(p.ID, prefix) && !slices.Contains(args, p.ID) {
			ids = append(ids, p.ID+"\t"+display.Cut(display.Line(p.Command), 40))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeProcessThen completes an id, then words.
func (a *commands) completeProcessThen(words ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.completeProcesses(cmd, args, prefix)
		}
		return cli.WithPrefix(slices.Clone(words), prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

func newProcessListCmd(a *commands) *cobra.Command {
	var owner string
	var running, asJSON bool
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List background commands",
		Args:              cli.Exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runProcessList(cmd.Context(), a, owner, running, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&owner, "owner", callerName(), "list only commands of this `SESSION` (default: GC_SESSION_NAME, else all)")
	f.BoolVar(&running, "running", false, "list only running commands")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cli.Describe(cmd, `Lists running commands and ended ones that are still kept: for 30 minutes after the
owner saw the end, for at most 24 hours, and at most 50 per owner.`, `
		gc process list
		gc process list --running --owner '' --json`, cli.Statuses{cli.ExitCannotTell: ""})
}

func runProcessList(ctx context.Context, a *commands, owner string, running, asJSON bool) error {
	all := []api.ExecResult{}
	client, err := a.mux.Dial(ctx)
	switch {
	case host.IsNoServer(err):
	case err != nil:
		return err
	default:
		defer client.Close()
		if all, err = client.ProcessList(ctx, owner, !running); err != nil {
			return err
		}
	}
	if asJSON {
		return a.PrintJSON(map[string]any{"processes": all})
	}
	t := &display.Table{Width: a.Width()}
	t.Add("ID", "STATUS", "AGE", "OWNER", "COMMAND")
	for _, p := range all {
		status := string(p.Status)
		if p.ExitCode != nil && *p.ExitCode != 0 {
			status += fmt.Sprintf(" %d", *p.ExitCode)
		}
		command := p.Command
		if p.Label != "" {
			command = p.Label + ": " + command
		}
		t.Add(p.ID, status, display.Ago(p.Started, time.Now()), p.Owner, command)
	}
	return t.Print(a.Out)
}

func newProcessPollCmd(a *commands) *cobra.Command {
	var wait time.Duration
	var cursor uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "poll ID",
		Short:             "Print new output",
		Args:              cli.Exactly(1),
		ValidArgsFunction: a.completeProcesses,
	}
	f := cmd.Flags()
	f.DurationVar(&wait, "wait", 0, "wait this long for output or the end (at most 30s)")
	f.Uint64Var(&cursor, "cursor", 0, "print output from this `OFFSET` and acknowledge everything before it (default: the last acknowledged offset)")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
		r := api.PollRequest{Wait: api.Millis(wait), Caller: callerName()}
		if cmd.Flags().Changed("cursor") {
			r.Cursor = &cursor
		}
		res, err := c.ProcessPoll(ctx, args[0], r)
		if err != nil {
			return err
		}
		if asJSON {
			return a.PrintJSON(res)
		}
		if _, err := fmt.Fprint(a.Out, display.Text(res.Output)); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s, cursor %d\n", res.Status, res.Cursor)
		return nil
	})
	return cli.Describe(cmd, `Prints the output after the cursor. The same output is printed again until a poll with
the next cursor acknowledges it. Control characters are shown as escapes. The status
and the next cursor are printed to standard error. An owner that polls the end gets no
message about it.`, `
		gc process poll 01a1fcd101fd490729a25aa5
		gc process poll ID --cursor 4096 --wait 20s --json`, cli.Statuses{cli.ExitNotFound: "no such command", cli.ExitCannotTell: ""})
}

func newProcessWaitCmd(a *commands) *cobra.Command {
	var timeout time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "wait ID",
		Short:             "Wait for the end and exit with the command's status",
		Args:              cli.Exactly(1),
		ValidArgsFunction: a.completeProcesses,
		RunE: a.onProcess(func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.ProcessWait(ctx, args[0], callerName(), timeout)
			if err != nil {
				return err
			}
			if asJSON {
				if err := a.PrintJSON(res); err != nil {
					return err
				}
			}
			if !res.Status.Ended() {
				return cli.Quiet(exitRunning)
			}
			return endOf(a, res)
		}),
	}
	f := cmd.Flags()
	f.DurationVar(&timeout, "timeout", 0, "give up after this long")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cli.Describe(cmd, "Waits for the command to end. An owner that waits gets no message about the end.", `
		gc process wait ID && echo fine
		gc process wait ID --timeout 1m --json`,
		cli.Statuses{cli.ExitOK: "the command's exit status, as with gc exec", cli.ExitNotFound: "the command's exit status, or: no such command",
			exitRunning: "still running after --timeout", cli.ExitTimeout: "the command timed out", exitOwn: "the command is lost"})
}

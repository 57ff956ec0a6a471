// Package opcmd has gc session-op: the exec session protocol for scripts, and the
// check of a script against it. The operations themselves are in sessionop.
package opcmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/sessionop"
	"gascity.dev/gc/runtime/exec/check"
)

// Name is the name of the command.
const Name = "session-op"

// Command is gc session-op.
type Command struct {
	Console  *cli.Console
	Version  string               // of this gc
	Sessions cobra.CompletionFunc // completes a session's name
}

// Direct reports whether the arguments of gc run one operation. Scripts do so many
// times a second: call Run without building the command.
func Direct(args []string) bool {
	return len(args) > 0 && args[0] == Name && !wantsHelp(args[1:]) && !wantsCheck(args[1:])
}

// New returns the command with its flags and help.
func (c *Command) New() *cobra.Command {
	cmd := &cobra.Command{
		Use:                Name + " OPERATION [NAME [ARG…]]",
		Short:              "Run an operation of the exec session protocol",
		DisableFlagParsing: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return cli.WithPrefix(sessionop.Operations(), word), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return c.Sessions(cmd, nil, word)
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if wantsHelp(args) {
				return cmd.Help()
			}
			if status := c.Run(cmd.Context(), args); status != cli.ExitOK {
				return cli.Quiet(status)
			}
			return nil
		},
	}
	cmd.AddCommand(newCheck(c.Console))
	return cli.Describe(cmd, `Runs one operation of the exec session protocol (docs/exec-protocol.md) on a
session of the multiplexer, for programs that host their sessions through a
script such as contrib/session-scripts/gc-session-native. Values are read from
standard input; results are written to standard output.

Operations: protocol; list-running PREFIX; and, with the NAME of a session, start,
stop, interrupt, is-running, is-attached, attach, process-alive, nudge,
send-keys KEY…, set-meta KEY, get-meta KEY, remove-meta KEY, peek LINES,
clear-scrollback, get-last-activity, copy-to SRC REL_DST, run-live, relaunch,
exec, provision, wait-idle SECONDS, last-exit.`, `
		echo '{"command":"make -j4"}' | gc session-op start build
		gc session-op is-running build
		gc session-op peek build 120`,
		cli.Statuses{cli.ExitFailure: "failure, including wrong usage", cli.ExitUsage: "no such operation"})
}

// wantsHelp reports whether the arguments ask for help.
func wantsHelp(args []string) bool {
	return len(args) > 0 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help")
}

// wantsCheck reports whether the arguments name the subcommand check.
func wantsCheck(args []string) bool { return len(args) > 0 && args[0] == checkName }

// Run carries out one operation and returns the exit status.
func (c *Command) Run(ctx context.Context, args []string) int {
	o := sessionop.Options{In: c.Console.In, Out: c.Console.Out, Err: c.Console.Err, Program: cli.Program, Version: c.Version}
	status, err := sessionop.Run(ctx, o, args)
	if err != nil {
		cli.PrintError(c.Console.Err, err.Error(), "")
	}
	return status
}

const checkName = "check"

func newCheck(c *cli.Console) *cobra.Command {
	var only string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   checkName + " SCRIPT",
		Short: "Check a session script against the protocol",
		Args:  cli.Exactly(1),
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd, c, args[0], only, asJSON)
		}),
	}
	cmd.Flags().StringVar(&only, "only", "", "check only this `OPERATION`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cli.Describe(cmd, `Runs SCRIPT as callers of the exec session protocol do (docs/exec-protocol.md), on
sessions that it starts and stops itself, and reports for each rule whether the
script follows it. This takes about a minute.

An operation that is not implemented (status 2) is reported as missing, with what
callers do without it; only start, stop and is-running are required. For a fault it
prints what was observed, the effect on callers, and the call to repeat by hand.
GC_EXEC_STATE_DIR and GC_CITY_PATH are set to a temporary directory.`, `
		gc session-op check ./my-script
		gc session-op check ./my-script --only nudge`,
		cli.Statuses{cli.ExitFailure: "the script breaks a rule"})
}

func runCheck(cmd *cobra.Command, c *cli.Console, script, only string, asJSON bool) error {
	path, err := exec.LookPath(script)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return cli.Fail(cli.ExitFailure, "SCRIPT is the path of an executable, or a name on PATH", "session script %q: %v", script, err)
	}
	o := check.Options{Script: path, Only: only, Environ: backend.WithSelf(os.Environ())}
	if !asJSON {
		o.Done = func(r check.Result) { printFinding(c, r) }
	}
	results, err := check.Run(cmd.Context(), o)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, r := range results {
		count[r.Outcome]++
	}
	if asJSON {
		if err := c.PrintJSON(results); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.Out, "\nok %d, missing %d, skipped %d, faults %d\n",
			count[check.OK], count[check.Missing], count[check.Skipped], count[check.Fault])
	}
	if count[check.Fault] > 0 {
		return cli.Quiet(cli.ExitFailure)
	}
	return nil
}

// printFinding prints one rule and, below it, advice for the script's author.
func printFinding(c *cli.Console, r check.Result) {
	outcome := r.Outcome
	if outcome == check.Fault {
		outcome = "FAULT"
	}
	fmt.Fprintf(c.Out, "%-8s %s: %s\n", outcome, r.Operation, r.Rule)
	for _, line := range []struct{ head, text string }{{"seen", r.Detail}, {"so", r.Advice}, {"by hand", r.Call}} {
		if line.text != "" {
			fmt.Fprintf(c.Out, "         %s: %s\n", line.head, strings.ReplaceAll(line.text, "\n", "\n           "))
		}
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/runtime/exec/check"
)

const checkName = "check"

func newSessionOpCheckCmd(a *app) *cobra.Command {
	var only string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   checkName + " SCRIPT",
		Short: "Check a session script against the protocol",
		Args:  exactly(1),
		RunE: graceful(func(cmd *cobra.Command, args []string) error {
			return runSessionOpCheck(cmd, a, args[0], only, asJSON)
		}),
	}
	cmd.Flags().StringVar(&only, "only", "", "check this operation alone")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return describe(cmd, `Runs SCRIPT as a caller of the exec session protocol does (docs/exec-protocol.md),
with sessions of its own that it starts and stops, and says of every rule whether
the script keeps it. It takes about a minute.

An operation that is not implemented (status 2) is "missing" and no fault, except
start, stop and is-running; what callers do without it is printed. A fault comes
with what was seen, what it does to callers, and the call to repeat by hand. Calls
are made with GC_EXEC_STATE_DIR and GC_CITY_PATH in a temporary folder.`, `
		gc session-op check ./my-script
		gc session-op check ./my-script --only nudge`,
		statuses{exitFailure: "the script has a fault"})
}

func runSessionOpCheck(cmd *cobra.Command, a *app, script, only string, asJSON bool) error {
	path, err := exec.LookPath(script)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return fail(exitFailure, "a path of an executable, or a name on PATH", "session script %q: %v", script, err)
	}
	o := check.Options{Script: path, Only: only, Environ: withSelf(os.Environ())}
	if !asJSON {
		o.Done = func(r check.Result) { printFinding(a, r) }
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
		if err := a.printJSON(results); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "\nok %d, missing %d, skipped %d, faults %d\n",
			count[check.OK], count[check.Missing], count[check.Skipped], count[check.Fault])
	}
	if count[check.Fault] > 0 {
		return quiet(exitFailure)
	}
	return nil
}

// printFinding prints one rule, and below it what a script's author can do.
func printFinding(a *app, r check.Result) {
	outcome := r.Outcome
	if outcome == check.Fault {
		outcome = "FAULT"
	}
	fmt.Fprintf(a.out, "%-8s %s: %s\n", outcome, r.Operation, r.Rule)
	for _, line := range []struct{ head, text string }{{"seen", r.Detail}, {"so", r.Advice}, {"by hand", r.Call}} {
		if line.text != "" {
			fmt.Fprintf(a.out, "         %s: %s\n", line.head, strings.ReplaceAll(line.text, "\n", "\n           "))
		}
	}
}

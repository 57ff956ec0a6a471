package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/trust"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/runtime"
)

// failure is an error with the command's exit status.
type failure struct {
	err    error
	status int
	hint   string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Hint is the next step, or "".
func (f *failure) Hint() string { return f.hint }

// Status is the exit status.
func (f *failure) Status() int { return f.status }

// fail returns an error with an exit status and a hint, which may be "".
func fail(status int, hint, format string, args ...any) error {
	return &failure{err: fmt.Errorf(format, args...), status: status, hint: hint}
}

// quiet is an exit status without a message: the output has said everything.
type quiet int

func (q quiet) Error() string { return fmt.Sprintf("exit status %d", int(q)) }

func usageError(cmd *cobra.Command, msg string) error {
	return fail(exitUsage, cmd.CommandPath()+" --help", "%s", msg)
}

// sentinels map the errors of the packages to exit statuses and hints. The first
// match counts.
var sentinels = []struct {
	err    error
	status int
	hint   string
}{
	{config.ErrNoCity, exitNotFound, "gc init DIR creates a city; --city DIR selects one"},
	{cityapi.ErrNoController, exitNotFound, "gc start"},
	{runtime.ErrSessionNotFound, exitNotFound, "gc session list --all"},
	{api.ErrNotFound, exitNotFound, "gc session list --all"},
	{runtime.ErrSessionExists, exitFailure, "gc session kill NAME ends the running one"},
	{api.ErrExists, exitFailure, "gc session kill NAME ends the running one"},
	{runtime.ErrBadName, exitUsage, ""},
	{runtime.ErrUnknownKey, exitUsage, "gc keys --help lists the names; --literal sends text"},
	{keys.ErrUnknown, exitUsage, "gc keys --help lists the names; --literal sends text"},
	{api.ErrNoServer, exitNotFound, "the first session starts it: gc session new NAME -- COMMAND"},
	{api.ErrUnreachable, exitCannotTell, "gc mux status"},
	{api.ErrTerminals, exitFailure, "end some sessions, or raise kernel.pty.max (sysctl)"},
	{api.ErrOpenFiles, exitFailure, "end some sessions, or start the mux under a higher limit (ulimit -Hn)"},
	{api.ErrVersion, exitUnsupported, "gc mux upgrade replaces it; sessions keep running"},
	{api.ErrStart, exitFailure, "gc doctor shows what this machine lacks"},
	{trust.ErrStore, exitFailure, "set XDG_STATE_HOME to another directory"},
	{api.ErrStateDir, exitFailure, "set XDG_STATE_HOME or GC_MUX_SOCKET to another place"},
	{api.ErrBadName, exitUsage, ""},
	{api.ErrSize, exitUsage, ""},
	{cityapi.ErrUnknownAgent, exitNotFound, "gc agent list"},
	{cityapi.ErrUnknownRig, exitNotFound, "gc rig list"},
	{cityapi.ErrControllerRunning, exitFailure, "gc status shows it; gc stop stops it"},
	{api.ErrLimit, exitFailure, "gc process list --running lists them; gc process kill ID ends one"},
	{api.ErrBusy, exitFailure, "gc mux stop --force also ends the sessions"},
	{runtime.ErrBackendUnreachable, exitCannotTell, "gc doctor"},
	{api.ErrNoMessage, exitNotFound, "gc session queue --all"},
	{api.ErrNested, exitFailure, "attach from a terminal outside the session"},
	{api.ErrQuestion, exitFailure, "gc pending shows the current question"},
	{runtime.ErrQuestion, exitFailure, "gc pending shows the current question"},
	{runtime.ErrInteractionUnsupported, exitUnsupported, ""},
	{runtime.ErrExecUnsupported, exitUnsupported, ""},
	{runtime.ErrRelaunchUnsupported, exitUnsupported, ""},
	{runtime.ErrUnsupported, exitUnsupported, ""},
}

// statusOf is the exit status of an error, and the hint for its kind.
func statusOf(err error) (status int, hint string) {
	var f *failure
	if errors.As(err, &f) {
		return f.status, f.hint
	}
	var lookup *agent.LookupError
	if errors.As(err, &lookup) {
		if lookup.Ambiguous {
			return exitUsage, ""
		}
		return exitNotFound, ""
	}
	var sig *attach.SignalError
	if errors.As(err, &sig) {
		if n, ok := sig.Signal.(syscall.Signal); ok {
			return exitSignal + int(n), ""
		}
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.status, s.hint
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return exitTimeout, ""
	}
	return exitFailure, ""
}

// explain is the exit status of an error, and its own hint or that of its kind.
func explain(err error) (status int, hint string) {
	status, hint = statusOf(err)
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		hint = h.Hint()
	}
	return status, hint
}

// report prints err for a person and returns the exit status.
func report(w io.Writer, cmd *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	var q quiet
	if errors.As(err, &q) {
		return int(q)
	}
	status, hint := explain(err)
	var problems *config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems.List {
			printError(w, p.String(), p.Hint)
		}
		return exitFailure
	}
	var death *runtime.StartupDeath
	var blocked *runtime.StartupBlocked
	switch {
	case errors.As(err, &death):
		printScreen(w, death.Screen)
		if hint == "" && death.Code == 127 {
			hint = "127 means command not found: check the spelling and PATH"
		}
	case errors.As(err, &blocked):
		printScreen(w, blocked.Screen)
	}
	if hint == "" && status == exitUsage && cmd != nil {
		hint = cmd.CommandPath() + " --help"
	}
	printError(w, err.Error(), hint)
	return status
}

// printScreen prints the last screen of a session whose start failed.
func printScreen(w io.Writer, screen string) {
	if screen = strings.TrimSpace(screen); screen != "" {
		fmt.Fprintf(w, "%s\n", display.Text(screen))
	}
}

// printError writes one line, and the hint below it if there is one.
func printError(w io.Writer, msg, hint string) {
	msg = strings.TrimSpace(strings.ReplaceAll(strings.TrimSpace(msg), "\n", "; "))
	fmt.Fprintf(w, "%s: %s\n", program, display.Line(named(msg)))
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", display.Line(named(hint)))
	}
}

// warn prints a warning; the command goes on.
func (c *console) warn(format string, args ...any) {
	fmt.Fprintf(c.err, "%s: warning: %s\n", program, display.Line(named(fmt.Sprintf(format, args...))))
}

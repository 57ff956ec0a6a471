package cli

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

// Failure is an error with the command's exit status.
type Failure struct {
	err    error
	status int
	hint   string
}

func (f *Failure) Error() string { return f.err.Error() }
func (f *Failure) Unwrap() error { return f.err }

// Hint is the next step, or "".
func (f *Failure) Hint() string { return f.hint }

// Status is the exit status.
func (f *Failure) Status() int { return f.status }

// Fail returns an error with an exit status and a hint, which may be "".
func Fail(status int, hint, format string, args ...any) error {
	return &Failure{err: fmt.Errorf(format, args...), status: status, hint: hint}
}

// Quiet is an exit status without a message: the output is complete.
type Quiet int

func (q Quiet) Error() string { return fmt.Sprintf("exit status %d", int(q)) }

func UsageError(cmd *cobra.Command, msg string) error {
	return Fail(ExitUsage, cmd.CommandPath()+" --help", "%s", msg)
}

// sentinels map the errors of the packages to exit statuses and hints. The first
// match counts.
var sentinels = []struct {
	err    error
	status int
	hint   string
}{
	{config.ErrNoCity, ExitNotFound, "gc init DIR creates a city; --city DIR selects one"},
	{cityapi.ErrAnotherUser, ExitCannotTell, "run gc as the user that started the city"},
	{cityapi.ErrNoController, ExitNotFound, "gc start"},
	{runtime.ErrSessionNotFound, ExitNotFound, "gc session list --all"},
	{api.ErrNotFound, ExitNotFound, "gc session list --all"},
	{runtime.ErrSessionExists, ExitFailure, "gc session kill NAME ends the running one"},
	{api.ErrExists, ExitFailure, "gc session kill NAME ends the running one"},
	{runtime.ErrBadName, ExitUsage, ""},
	{runtime.ErrUnknownKey, ExitUsage, "gc keys --help lists the names; --literal sends text"},
	{keys.ErrUnknown, ExitUsage, "gc keys --help lists the names; --literal sends text"},
	{api.ErrNoServer, ExitNotFound, "the first session starts it: gc session new NAME -- COMMAND"},
	{api.ErrUnreachable, ExitCannotTell, "gc mux status"},
	{api.ErrTerminals, ExitFailure, api.HintTerminals},
	{api.ErrOpenFiles, ExitFailure, "end some sessions, or start the mux under a higher limit (ulimit -Hn)"},
	{api.ErrVersion, ExitUnsupported, "gc mux upgrade replaces it; sessions keep running"},
	{api.ErrStart, ExitFailure, "gc doctor shows what this machine lacks"},
	{trust.ErrStore, ExitFailure, "set XDG_STATE_HOME to another directory"},
	{trust.ErrNoState, ExitFailure, "set HOME or XDG_STATE_HOME; GC_TRUST=1 trusts without a record"},
	{api.ErrStateDir, ExitFailure, "set XDG_STATE_HOME or GC_MUX_SOCKET to another place"},
	{api.ErrBadName, ExitUsage, ""},
	{api.ErrSize, ExitUsage, ""},
	{cityapi.ErrUnknownAgent, ExitNotFound, "gc agent list"},
	{cityapi.ErrUnknownRig, ExitNotFound, "gc rig list"},
	{cityapi.ErrNoLetter, ExitNotFound, "gc mail list --all"},
	{cityapi.ErrControllerRunning, ExitFailure, "gc status shows it; gc stop stops it"},
	{api.ErrLimit, ExitFailure, "gc process list --running lists them; gc process kill ID ends one"},
	{api.ErrBusy, ExitFailure, "gc mux stop --force also ends the sessions"},
	{runtime.ErrBackendUnreachable, ExitCannotTell, "gc doctor"},
	{api.ErrCityAway, ExitUnsupported, "try again later: the city connects when its controller runs and reaches this machine"},
	{api.ErrNoAnswer, ExitCannotTell, ""},
	{api.ErrNotInside, ExitNotFound, "run it inside a session, on the session's machine"},
	{api.ErrNoMessage, ExitNotFound, "gc session queue --all"},
	{api.ErrNested, ExitFailure, "attach from a terminal outside the session"},
	{api.ErrQuestion, ExitFailure, "gc pending shows the current question"},
	{runtime.ErrQuestion, ExitFailure, "gc pending shows the current question"},
	{syscall.ENOSPC, ExitFailure, "free some space on that disk"},
	{runtime.ErrInteractionUnsupported, ExitUnsupported, ""},
	{runtime.ErrExecUnsupported, ExitUnsupported, ""},
	{runtime.ErrRelaunchUnsupported, ExitUnsupported, ""},
	{runtime.ErrUnsupported, ExitUnsupported, ""},
}

// StatusOf is the exit status of an error, and the hint for its kind.
func StatusOf(err error) (status int, hint string) {
	var f *Failure
	if errors.As(err, &f) {
		return f.status, f.hint
	}
	var lookup *agent.LookupError
	if errors.As(err, &lookup) {
		if lookup.Ambiguous {
			return ExitUsage, ""
		}
		return ExitNotFound, ""
	}
	var sig *attach.SignalError
	if errors.As(err, &sig) {
		if n, ok := sig.Signal.(syscall.Signal); ok {
			return ExitSignal + int(n), ""
		}
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.status, s.hint
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ExitTimeout, ""
	}
	return ExitFailure, ""
}

// Explain is the exit status of an error, and its own hint or that of its kind.
func Explain(err error) (status int, hint string) {
	status, hint = StatusOf(err)
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		hint = h.Hint()
	}
	return status, hint
}

// Report prints err for a person and returns the exit status.
func Report(w io.Writer, cmd *cobra.Command, err error) int {
	if err == nil {
		return ExitOK
	}
	var q Quiet
	if errors.As(err, &q) {
		return int(q)
	}
	status, hint := Explain(err)
	var problems *config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems.List {
			PrintError(w, p.String(), p.Hint)
		}
		return ExitFailure
	}
	var death *runtime.StartupDeath
	var blocked *runtime.StartupBlocked
	switch {
	case errors.As(err, &death):
		PrintScreen(w, death.Screen)
		if hint == "" && death.Code == 127 {
			hint = "127 means command not found: check the spelling and PATH"
		}
	case errors.As(err, &blocked):
		PrintScreen(w, blocked.Screen)
	}
	if hint == "" && status == ExitUsage && cmd != nil {
		hint = cmd.CommandPath() + " --help"
	}
	PrintError(w, err.Error(), hint)
	return status
}

// PrintScreen prints the last screen of a session whose start failed.
func PrintScreen(w io.Writer, screen string) {
	if screen = strings.TrimSpace(screen); screen != "" {
		fmt.Fprintf(w, "%s\n", display.Text(screen))
	}
}

// PrintError writes one line, and the hint below it if there is one.
func PrintError(w io.Writer, msg, hint string) {
	msg = strings.TrimSpace(strings.ReplaceAll(strings.TrimSpace(msg), "\n", "; "))
	fmt.Fprintf(w, "%s: %s\n", Program, display.Line(Named(msg)))
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", display.Line(Named(hint)))
	}
}

// Warn prints a warning; the command continues.
func (c *Console) Warn(format string, args ...any) {
	fmt.Fprintf(c.Err, "%s: warning: %s\n", Program, display.Line(Named(fmt.Sprintf(format, args...))))
}

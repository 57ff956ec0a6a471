package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of the contract. Compare with [errors.Is]; providers map backend text
// to a sentinel at their own edge.
var (
	ErrSessionExists            = errors.New("session already exists")
	ErrSessionNotFound          = errors.New("session not found")
	ErrActive                   = errors.New("the session is active again")
	ErrSessionInitializing      = errors.New("session is still initializing")
	ErrSessionDiedDuringStartup = errors.New("session died during startup")
	ErrInteractionUnsupported   = errors.New("interaction not supported")
	ErrExecUnsupported          = errors.New("exec not supported")
	ErrRelaunchUnsupported      = errors.New("relaunch not supported")
	ErrBadName                  = errors.New("bad session name")
	ErrUnknownKey               = errors.New("unknown key")
	ErrPathEscapes              = errors.New("path escapes the work dir")
	ErrUnsupported              = errors.New("not supported by this provider")
	ErrSentAway                 = errors.New("another terminal took the session")
	ErrBackendUnreachable       = errors.New("cannot reach the session backend")
	ErrListIncomplete           = errors.New("whether some sessions run is unknown")
	ErrBackendBusy              = errors.New("the session backend accepts no new sessions")

	// ErrStartupBlocked: the start stopped at a dialog that only a person may
	// answer, or because the agent requires a login. The error is a *StartupBlocked.
	ErrStartupBlocked = errors.New("a dialog blocks the start")
	// ErrQuestion: another question is open, it lacks the option, or it did not
	// disappear.
	ErrQuestion = errors.New("the question was not answered")
)

// IsBackendFailure reports whether a Start failed because of its backend: the error
// says nothing about the program, and a retry may succeed.
func IsBackendFailure(err error) bool {
	if errors.Is(err, ErrSessionDiedDuringStartup) || errors.Is(err, ErrStartupBlocked) {
		return false
	}
	return errors.Is(err, ErrBackendUnreachable) || errors.Is(err, ErrBackendBusy) || errors.Is(err, ErrSessionInitializing)
}

// StartupDeath is the error of a session that ended before it was ready. It
// matches ErrSessionDiedDuringStartup.
type StartupDeath struct {
	Session string
	Code    int    // exit status; 128+n for signal n
	Signal  string // "SIGKILL"; empty if it exited by itself
	Screen  string // the last screen as text, may be empty
}

// Error is one line; the screen is for the caller to show.
func (e *StartupDeath) Error() string {
	if e.Signal != "" {
		return fmt.Sprintf("%v (%s)", ErrSessionDiedDuringStartup, e.Signal)
	}
	return fmt.Sprintf("%v (exit status %d)", ErrSessionDiedDuringStartup, e.Code)
}

// Is makes errors.Is(err, ErrSessionDiedDuringStartup) true.
func (e *StartupDeath) Is(target error) bool { return target == ErrSessionDiedDuringStartup }

// StartupBlocked is what blocks a start until a person acts. It matches
// ErrStartupBlocked. Nothing was typed into a dialog.
type StartupBlocked struct {
	Session  string
	Kind     string // BlockedAuth: the agent requires a login, and Question says which; "": a dialog
	Dialog   string // name in the table; "" for an unknown one
	Question string
	Screen   string // with the dialog
	Detail   string // why a known dialog was not answered
}

// Error is one line; the screen is for the caller to show.
func (e *StartupBlocked) Error() string {
	if e.Kind == BlockedAuth {
		return "the agent requires authentication: " + e.Question
	}
	what := "an unknown dialog"
	if e.Dialog != "" {
		what = "the dialog " + e.Dialog
	}
	text := fmt.Sprintf("%s blocks the start: %q", what, e.Question)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Is makes errors.Is(err, ErrStartupBlocked) true.
func (e *StartupBlocked) Is(target error) bool { return target == ErrStartupBlocked }

// IsSessionGone reports whether err means that the session does not exist. The
// phrases match errors of old scripts; program output is never matched.
func IsSessionGone(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, ErrSessionNotFound) {
		return true
	}
	if errors.Is(err, ErrBackendUnreachable) {
		return false
	}
	text := strings.ToLower(err.Error())
	for _, phrase := range []string{"session not found", "not running", "not found", "no tmux server running"} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// maxName is the longest session name in bytes.
const maxName = 200

// CheckName returns an ErrBadName unless name is 1 to 200 bytes of
// [A-Za-z0-9._-] that do not start with "-" or ".".
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%w: %q must have 1 to %d bytes", ErrBadName, clip(name), maxName)
	}
	if name[0] == '-' || name[0] == '.' {
		return fmt.Errorf("%w: %q starts with %q", ErrBadName, name, name[0])
	}
	for _, r := range name {
		if r > 0x7f || !nameByte(byte(r)) {
			return fmt.Errorf("%w: %q holds %q; letters, digits, '.', '_' and '-' are allowed", ErrBadName, name, r)
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

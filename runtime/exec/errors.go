package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// ScriptError is a call that the script answered with a failure.
type ScriptError struct {
	What    string // script, operation and session
	Code    int    // exit status; 128+n for signal n
	Message string // its standard error as one line, may be empty
	is      error  // sentinel of the contract, may be nil
}

// Error is one line that names script and operation.
func (e *ScriptError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: exit status %d and no message", e.What, e.Code)
	}
	return fmt.Sprintf("%s: %s (exit status %d)", e.What, e.Message, e.Code)
}

// Unwrap returns the sentinel that the script's message means.
func (e *ScriptError) Unwrap() error { return e.is }

// failure returns the error of a call that the script failed.
func (p *Provider) failure(ctx context.Context, r request, a answer) error {
	return &ScriptError{What: p.what(r), Code: a.code, Message: a.stderr, is: p.sentinel(ctx, r, a)}
}

// unreachableError is a call without a usable answer. It matches
// runtime.ErrBackendUnreachable.
type unreachableError struct {
	error
	hint string
}

func (l *unreachableError) Unwrap() error { return l.error }

// Hint returns the next step for a person.
func (l *unreachableError) Hint() string { return l.hint }

// protocolError returns the error of an answer that is missing or malformed.
func (p *Provider) protocolError(r request, err error) error {
	return p.unreachable(r, fmt.Errorf("%s: %w: %w", p.what(r), runtime.ErrBackendUnreachable, err))
}

func (p *Provider) unreachable(r request, err error) error {
	line := p.path + " " + r.op
	for _, word := range append([]string{r.name}, r.args...) {
		if r.op != opProtocol {
			line += " " + shell.Quote(word)
		}
	}
	return &unreachableError{err, "run it by hand: " + line}
}

// unknown returns the error of a query that failed: unreachable, unless the script
// reports that there is no session.
func (p *Provider) unknown(ctx context.Context, r request, a answer) error {
	err := p.failure(ctx, r, a)
	if gone(err) {
		return err
	}
	if a.code == exitNotImplemented {
		err = fmt.Errorf("%s: not implemented", p.what(r))
	}
	return p.unreachable(r, fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err))
}

// sentinel returns what a script's failure means. 126, 127 and signals are the
// shell's answer, not the script's.
func (p *Provider) sentinel(ctx context.Context, r request, a answer) error {
	text := strings.ToLower(a.stderr)
	switch {
	case a.code == exitCannotRun || a.code == exitNoCommand || a.code > 128:
		return runtime.ErrBackendUnreachable
	case r.op == opStart && a.code == exitTemporary:
		return runtime.ErrSessionInitializing
	case a.code == exitNotImplemented:
		return runtime.ErrUnsupported
	case r.op == opStart && strings.Contains(text, "already exists"):
		return runtime.ErrSessionExists
	case r.op == opCopyTo && strings.Contains(text, "path escapes"):
		return runtime.ErrPathEscapes
	case r.op == opStart:
		return nil
	case strings.Contains(text, "session not found"):
		return runtime.ErrSessionNotFound
	case r.op != opProtocol && saysGone(text) && p.old(ctx):
		return runtime.ErrSessionNotFound
	}
	return nil
}

// saysGone recognises how scripts without a handshake report a missing session. A
// shell's message about a missing program is not one.
func saysGone(text string) bool {
	if strings.Contains(text, "command not found") || strings.Contains(text, ": not found") {
		return false
	}
	for _, phrase := range []string{"not running", "not found", "no tmux server running"} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// old reports whether the script has no handshake.
func (p *Provider) old(ctx context.Context) bool {
	h, err := p.handshake(ctx)
	return err == nil && !h.spoken
}

func gone(err error) bool { return errors.Is(err, runtime.ErrSessionNotFound) }

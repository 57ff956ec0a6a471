package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// ScriptError is a call that the script itself failed.
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

// Unwrap gives the sentinel that the script's message stands for.
func (e *ScriptError) Unwrap() error { return e.is }

// failure makes the error of a call that did not succeed.
func (p *Provider) failure(ctx context.Context, r request, a answer) error {
	return &ScriptError{What: p.what(r), Code: a.code, Message: a.stderr, is: p.sentinel(ctx, r, a)}
}

// lost is a call without an answer that counts: nothing is known. It matches
// runtime.ErrBackendUnreachable.
type lost struct {
	error
	hint string
}

func (l *lost) Unwrap() error { return l.error }

// Hint is the next step for a person.
func (l *lost) Hint() string { return l.hint }

// misread makes the error of an answer that did not come or is not understood.
func (p *Provider) misread(r request, err error) error {
	return p.lose(r, fmt.Errorf("%s: %w: %w", p.what(r), runtime.ErrBackendUnreachable, err))
}

func (p *Provider) lose(r request, err error) error {
	line := p.path + " " + r.op
	for _, word := range append([]string{r.name}, r.args...) {
		if r.op != opProtocol {
			line += " " + shell.Quote(word)
		}
	}
	return &lost{err, "what it does by hand: " + line}
}

// unknown makes the failure of a query "cannot tell", unless it says that
// there is no session.
func (p *Provider) unknown(ctx context.Context, r request, a answer) error {
	err := p.failure(ctx, r, a)
	if gone(err) {
		return err
	}
	if a.code == exitNotImplemented {
		err = fmt.Errorf("%s: not implemented", p.what(r))
	}
	return p.lose(r, fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err))
}

// sentinel reads what a script's failure means. 126, 127 and signals are the
// shell's word, not the script's.
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

// saysGone finds how scripts from before the handshake say that there is no
// session. What a shell says of a program that it cannot find is none of that.
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

package far

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/many"
)

// codes are the names of errors that keep their identity over a connection, beside those of
// the mux (api.Codes). New ones may be added; none changes.
var codes = []struct {
	code string
	err  error
}{
	{"no_server", api.ErrNoServer},
	{"start", api.ErrStart},
	{"frozen", api.ErrFrozen},
	{"unreachable", api.ErrUnreachable},
	{"kind", api.ErrVersion},
	{"no_city", ErrNoCity},
	{"cities", ErrManyCities},
	{"escapes", staging.ErrEscapes},
	{"incomplete", staging.ErrIncomplete},
	{"no_program", exec.ErrNotFound},
	{"no_process", proctree.ErrNotFound},
	{"no_space", unix.ENOSPC},
	{"not_exist", fs.ErrNotExist},
	{"permission", fs.ErrPermission},
	{"deadline", context.DeadlineExceeded},
}

// Why there is no connection to a city.
var (
	ErrNoCity     = errors.New("no city runs")
	ErrManyCities = errors.New("several cities run")
)

// maxText bounds the text of an error: the peer reads it as one line of at most 4 KiB.
const maxText = 2 << 10

// refusal converts an error for the wire.
func refusal(err error) many.Refused {
	r := many.Refused{Code: "other", Text: strings.ToValidUTF8(err.Error(), "?")}
	if len(r.Text) > maxText { // the end says more
		r.Text = "…" + strings.ToValidUTF8(r.Text[len(r.Text)-maxText:], "")
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			r.Code = c.code
			return r
		}
	}
	if remote := api.Remote(err); remote.Code != "" && remote.Unwrap() != nil && errors.Is(err, remote.Unwrap()) {
		r.Code = remote.Code
	}
	return r
}

// Error is an error of another machine. It unwraps to the error that its code names.
type Error struct {
	Machine string
	Code    string
	Text    string
}

// Error names the machine.
func (e *Error) Error() string { return e.Machine + ": " + e.Text }

// Unwrap returns the error that the code names, or nil.
func (e *Error) Unwrap() error {
	for _, c := range codes {
		if c.code == e.Code {
			return c.err
		}
	}
	return (&api.RemoteError{Code: e.Code}).Unwrap()
}

// Hint is the next step, or "".
func (e *Error) Hint() string {
	switch e.Code {
	case "kind":
		return "gc host install " + e.Machine + " installs this version there"
	case "no_space":
		return "free some space there"
	}
	return ""
}

// Away reports that a machine was not reached, or that the connection to it was cut before
// it had answered. It matches api.ErrUnreachable: nothing is known.
type Away struct {
	Machine string
	Err     error
}

// Error names the machine and the reason.
func (e *Away) Error() string {
	if text := e.Err.Error(); strings.HasPrefix(text, e.Machine+": ") {
		return text
	}
	return e.Machine + ": " + e.Err.Error()
}

// Hint is that of the reason, or "".
func (e *Away) Hint() string {
	var reason interface{ Hint() string }
	if errors.As(e.Err, &reason) {
		return reason.Hint()
	}
	if errors.As(e.Err, new(*many.VersionError)) {
		return "gc host install " + e.Machine + " installs this version there"
	}
	return ""
}

// Unwrap returns api.ErrUnreachable and the reason.
func (e *Away) Unwrap() []error { return []error{api.ErrUnreachable, e.Err} }

// from converts an error of a connection: the peer's refusal, the end of ctx, or a cut.
func (c *Client) from(ctx context.Context, err error) error {
	refused := new(many.Refused)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &Error{Machine: c.name, Code: refused.Code, Text: refused.Text}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &Away{Machine: c.name, Err: err}
}

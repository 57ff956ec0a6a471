package api

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/keys"
)

// Errors of the multiplexer; compare with [errors.Is]. A server's error crosses the
// socket as a stable code and becomes the same value again.
var (
	ErrNoServer    = errors.New("no mux server is running")
	ErrUnreachable = errors.New("the mux server does not answer")
	ErrStateDir    = errors.New("the mux state directory cannot be used")
	ErrStart       = errors.New("the mux server did not start")

	ErrNotFound  = errors.New("session not found")
	ErrExists    = errors.New("session already exists")
	ErrBusy      = errors.New("sessions are running")
	ErrExited    = errors.New("the session has exited")
	ErrActive    = errors.New("the session was active meanwhile")
	ErrBadName   = errors.New("bad session name")
	ErrWorkDir   = errors.New("bad work dir")
	ErrSpawn     = errors.New("the program cannot be started")
	ErrTerminals = fmt.Errorf("%w: no terminal is free", ErrSpawn)
	ErrOpenFiles = fmt.Errorf("%w: the mux has too many open files", ErrSpawn)
	ErrEnding    = fmt.Errorf("%w: the server is ending", ErrSpawn)
	ErrSize      = errors.New("bad terminal size")
	ErrRequest   = errors.New("bad request")
	ErrTooLarge  = errors.New("request too large")
	ErrInputFull = errors.New("the program does not read its input")
	ErrTooOld    = errors.New("these events are no longer kept")
	ErrForeign   = errors.New("the socket belongs to another user")
	ErrSlow      = errors.New("the subscriber did not keep up")
	ErrUpgrade   = errors.New("the new server did not become ready")
	ErrLimit     = process.ErrLimit
	ErrNoMessage = errors.New("no such message in the queue")
	ErrQuestion  = errors.New("the question was not answered")
	ErrNoControl = errors.New("the session has no control socket")
	ErrNotServed = errors.New("the program does not serve its control socket")
	ErrVersion   = errors.New("the mux server is another version of gc, which does not support this")
	ErrNested    = errors.New("a session cannot show itself")
	ErrNotInside = errors.New("not inside a session of this mux server")
	ErrOutbox    = errors.New("the outbox is full")
	ErrReused    = errors.New("another message has this id")
	ErrCityAway  = errors.New("the city is not connected to this machine")
	ErrNoAnswer  = errors.New("the city did not answer in time")
)

// HintTerminals is the next step after ErrTerminals.
const HintTerminals = "end some sessions there, or raise the limit: kernel.pty.max (sysctl), or max= of /dev/pts in a container"

// ErrFrozen means that a server exists but does not answer: it is stopped, or hangs.
// It is an ErrUnreachable; retrying at once is useless.
var (
	ErrFrozen       = error(&frozen{"no reply in 10s"})
	ErrKeeperFrozen = error(&frozen{"its keeper gives no reply in 10s"})
)

// frozen is a kind of ErrFrozen.
type frozen struct{ why string }

func (e *frozen) Error() string        { return ErrUnreachable.Error() + ": " + e.why }
func (e *frozen) Unwrap() error        { return ErrUnreachable }
func (e *frozen) Is(target error) bool { return target == ErrFrozen }

// ErrLeaving ends work of a server that is about to end; the next one continues it.
var ErrLeaving = fmt.Errorf("%w: it is being replaced, and the next server continues", ErrUnreachable)

// Codes are the sentinels' names on the wire. New ones may be added; none changes.
var Codes = []struct {
	Code string
	HTTP int
	err  error
}{
	{"not_found", 404, ErrNotFound},
	{"exists", 409, ErrExists},
	{"busy", 409, ErrBusy},
	{"exited", 409, ErrExited},
	{"active", 409, ErrActive},
	{"bad_name", 400, ErrBadName},
	{"work_dir", 400, ErrWorkDir},
	{"keeper_frozen", 503, ErrKeeperFrozen},
	{"leaving", 503, ErrLeaving},
	{"terminals", 503, ErrTerminals},
	{"open_files", 503, ErrOpenFiles},
	{"ending", 503, ErrEnding},
	{"spawn", 500, ErrSpawn},
	{"size", 400, ErrSize},
	{"unknown_key", 400, keys.ErrUnknown},
	{"too_large", 413, ErrTooLarge},
	{"input_full", 503, ErrInputFull},
	{"too_old", 410, ErrTooOld},
	{"state_dir", 500, ErrStateDir},
	{"foreign", 403, ErrForeign},
	{"upgrade", 500, ErrUpgrade},
	{"limit", 429, ErrLimit},
	{"question", 409, ErrQuestion},
	{"nested", 409, ErrNested},
	{"not_inside", 403, ErrNotInside},
	{"no_message", 404, ErrNoMessage},
	{"no_control", 409, ErrNoControl},
	{"not_served", 503, ErrNotServed},
	{"outbox_full", 507, ErrOutbox},
	{"reused", 409, ErrReused},
	{"no_space", 507, syscall.ENOSPC},
	{"city_away", 503, ErrCityAway},
	{"no_answer", 504, ErrNoAnswer},
	{"request", 400, ErrRequest},
}

// RemoteError is an error from the server. It unwraps to the sentinel of its code, or
// to nothing if the code is unknown.
type RemoteError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is the server's own sentence.
func (e *RemoteError) Error() string {
	if e.unknownPath() {
		return ErrVersion.Error()
	}
	if e.Message == "" {
		return fmt.Sprintf("mux server: status %d", e.Status)
	}
	return e.Message
}

// unknownPath reports whether the server does not know the request; every other error
// has a code.
func (e *RemoteError) unknownPath() bool {
	return e.Code == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed)
}

// Unwrap returns the sentinel that the code names.
func (e *RemoteError) Unwrap() error {
	if e.unknownPath() {
		return ErrVersion
	}
	for _, c := range Codes {
		if c.Code == e.Code {
			return c.err
		}
	}
	return nil
}

// Remote converts an error of the server for the wire.
func Remote(err error) *RemoteError {
	for _, c := range Codes {
		if errors.Is(err, c.err) {
			return &RemoteError{Status: c.HTTP, Code: c.Code, Message: err.Error()}
		}
	}
	return &RemoteError{Status: 500, Code: "internal", Message: err.Error()}
}

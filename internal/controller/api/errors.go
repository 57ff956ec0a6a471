package api

import (
	"errors"
	"fmt"
)

// Errors of this package; compare with [errors.Is].
var (
	// ErrNoController means that no controller is running for the city.
	ErrNoController = errors.New("no controller is running for this city")
	// ErrAnotherUser means that the city's controller belongs to another user.
	ErrAnotherUser = errors.New("the city's controller belongs to another user")
	// ErrControllerRunning means that the city already has a controller.
	ErrControllerRunning = errors.New("the city already has a controller")
	// ErrUnknownAgent means that the city has no agent of that name.
	ErrUnknownAgent = errors.New("no such agent")
	// ErrUnknownRig means that the city has no rig of that name.
	ErrUnknownRig = errors.New("no such rig")
	// ErrEarlierInstance means that the caller does not belong to the running
	// instance of the agent.
	ErrEarlierInstance = errors.New("only the running instance of an agent can do that")
	// ErrNotDraining means that the agent was not asked to drain.
	ErrNotDraining = errors.New("the agent was not asked to drain")
	// ErrNoLetter means that the city has no letter of that id for the agent.
	ErrNoLetter = errors.New("no such letter")
	// ErrStateDir means that the city's .gc folder cannot be used.
	ErrStateDir = errors.New("cannot use the city's .gc folder")
	// ErrShuttingDown means that the controller is stopping the city.
	ErrShuttingDown = errors.New("the city is being stopped")
	// ErrForeign means that another's session has the name of an agent's
	// session.
	ErrForeign = errors.New("a session of this name exists and is not this city's")
	// ErrAway means that the city of a session is on another machine, and cannot be asked.
	ErrAway = errors.New("the city of this session is on another machine")
	// ErrTimeout means that a run exceeded its time limit.
	ErrTimeout = errors.New("timed out")
)

// ForeignHint is what to do about [ErrForeign].
const ForeignHint = "end it, or rename the agent or the city"

// Error is an error with a hint for the user.
type Error struct {
	Err  error
	Help string
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what to do about the error.
func (e *Error) Hint() string { return e.Help }

// Hinted formats an error with a hint.
func Hinted(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Help: hint}
}

// Hint returns the first hint in the error's chain, or "".
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// WireError is an error as it travels over the socket: the body of every reply
// that is not 200. As an error it keeps its identity and hint.
type WireError struct {
	Text string `json:"error"`
	Help string `json:"hint,omitempty"`
	Code string `json:"code,omitempty"`
}

// NewWireError encodes an error for the socket.
func NewWireError(err error) *WireError {
	return &WireError{Text: err.Error(), Help: Hint(err), Code: codeOf(err)}
}

func (e *WireError) Error() string { return e.Text }

// Hint returns what to do about the error, or "".
func (e *WireError) Hint() string { return e.Help }

// Is reports whether target is the sentinel error with this code.
func (e *WireError) Is(target error) bool { return target != nil && codes[e.Code] == target }

// codes are the sentinel errors that keep their identity over the socket.
var codes = map[string]error{
	"unknown_agent": ErrUnknownAgent, "unknown_rig": ErrUnknownRig, "no_letter": ErrNoLetter,
	"earlier_instance": ErrEarlierInstance, "not_draining": ErrNotDraining, "shutting_down": ErrShuttingDown,
	"controller_running": ErrControllerRunning, "state_dir": ErrStateDir, "timeout": ErrTimeout,
}

func codeOf(err error) string {
	for code, sentinel := range codes {
		if errors.Is(err, sentinel) {
			return code
		}
	}
	return ""
}

package controller

import (
	"errors"
	"fmt"
)

// Errors of this package; compare with [errors.Is].
var (
	// ErrNoController means that no controller runs for the city.
	ErrNoController = errors.New("no controller is running for this city")
	// ErrControllerRunning means that the city has a controller already.
	ErrControllerRunning = errors.New("the city has a controller already")
	// ErrUnknownAgent means that the city has no agent of that name.
	ErrUnknownAgent = errors.New("no such agent")
	// ErrUnknownRig means that the city has no rig of that name.
	ErrUnknownRig = errors.New("no such rig")
	// ErrEarlierInstance means that a process of an instance that has ended, or
	// of none, decides for its agent.
	ErrEarlierInstance = errors.New("only the running instance of an agent may ask that")
	// ErrNotDraining means that there is no drain to agree to.
	ErrNotDraining = errors.New("the agent was not asked to drain")
	// ErrStateDir means that the city's .gc folder cannot be used.
	ErrStateDir = errors.New("cannot use the city's .gc folder")
	// ErrShuttingDown means that the controller is stopping the city.
	ErrShuttingDown = errors.New("the city is being stopped")
	// ErrForeign means that somebody else's session has the name of an agent's.
	ErrForeign = errors.New("a session of this name exists and is not this city's")
	// ErrTimeout means that a run with a time limit did not end in time.
	ErrTimeout = errors.New("timed out")
)

// ForeignHint is what to do about [ErrForeign].
const ForeignHint = "end it, or rename the agent or the city"

// Error is an error with a hint for the person.
type Error struct {
	Err  error
	Help string
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the error itself.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.Help }

func hinted(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Help: hint}
}

// Hint returns the hint that an error carries anywhere in its chain, or "".
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

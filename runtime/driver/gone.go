package driver

import (
	"errors"
	"fmt"

	"gascity.dev/gc/runtime"
)

// BestEffort returns the error of an operation that does nothing without a running
// session, such as an interrupt: nil for ErrSessionNotFound, else "what name: err".
func BestEffort(what, name string, err error) error {
	if err == nil || errors.Is(err, runtime.ErrSessionNotFound) {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, name, err)
}

// YesNo returns the answer of a query about a running session: no with any error, and
// without one for ErrSessionNotFound.
func YesNo(yes bool, what, name string, err error) (bool, error) {
	return yes && err == nil, BestEffort(what, name, err)
}

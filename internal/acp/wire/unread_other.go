//go:build !linux

package wire

import (
	"errors"
	"io"
)

// unread is not available at the writing end of a pipe.
func unread(io.Writer) (int, error) { return 0, errors.ErrUnsupported }

package proctree

import (
	"errors"
	"iter"

	"golang.org/x/sys/unix"
)

// Reap collects the children of this process that have ended, without waiting for others,
// and yields each with its status. A loop that stops early leaves the rest.
func Reap() iter.Seq2[int, unix.WaitStatus] {
	return func(yield func(int, unix.WaitStatus) bool) {
		for {
			var ws unix.WaitStatus
			pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil || pid <= 0 || !yield(pid, ws):
				return
			}
		}
	}
}

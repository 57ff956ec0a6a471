// Package fds keeps descriptors that this process inherited from its children. It is
// a leaf; main and the keeper call it at their start.
package fds

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseOnExec marks every descriptor from first on as close-on-exec. A daemon
// that inherited a pipe or a lock from the shell that started it would hold it
// for as long as it runs: a reader of the pipe would never see its end, and the
// lock would stay taken.
func CloseOnExec(first int) {
	if closeRange(uint(first), math.MaxUint32) == nil {
		return
	}
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // only the standard descriptors are sure to exist
	}
	for _, e := range open {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= first {
			unix.CloseOnExec(n)
		}
	}
}

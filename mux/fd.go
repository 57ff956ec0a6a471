package mux

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// highFD is above every descriptor that a child is given by number.
const highFD = 32

// moveFD moves a descriptor out of the way of children's numbers, if it is in it.
func moveFD(fd int) int {
	if fd >= highFD {
		unix.CloseOnExec(fd)
		return fd
	}
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, highFD)
	if err != nil {
		unix.CloseOnExec(fd)
		return fd
	}
	unix.Close(fd)
	return high
}

// closeAll closes descriptors; errors are ignored.
func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// socketPair returns a connected pair of stream sockets, close-on-exec.
func socketPair() (a, b int, err error) {
	p, err := cloexecPair()
	if err != nil {
		return -1, -1, fmt.Errorf("socketpair: %w", err)
	}
	return p[0], p[1], nil
}

package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// HighFD is above every descriptor that children get by number.
const HighFD = 32

// MoveFD moves a descriptor to HighFD or above, unless it is there already.
func MoveFD(fd int) int {
	if fd >= HighFD {
		unix.CloseOnExec(fd)
		return fd
	}
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, HighFD)
	if err != nil {
		unix.CloseOnExec(fd)
		return fd
	}
	unix.Close(fd)
	return high
}

// CloseAll closes descriptors; errors are ignored.
func CloseAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// SocketPair returns a connected pair of stream sockets, close-on-exec.
func SocketPair() (a, b int, err error) {
	p, err := cloexecPair()
	if err != nil {
		return -1, -1, fmt.Errorf("socketpair: %w", err)
	}
	return p[0], p[1], nil
}

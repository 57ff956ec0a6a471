package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func cloexecPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(p[0])
		unix.CloseOnExec(p[1])
	}
	return p, err
}

// CloexecPipe returns the reading and the writing end.
func CloexecPipe() (r, w int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return -1, -1, err
	}
	unix.CloseOnExec(p[0])
	unix.CloseOnExec(p[1])
	return p[0], p[1], nil
}

// SetSubreaper does nothing on this system. Orphans go to launchd, and the
// process tree is found by session and environment.
func SetSubreaper() {}

func SetProcessName(string) {}

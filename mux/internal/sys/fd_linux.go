package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

func cloexecPair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// CloexecPipe returns the reading and the writing end.
func CloexecPipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}

// SetSubreaper makes this process, not init, the parent of its descendants'
// orphans.
func SetSubreaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// SetProcessName sets the command's name that ps shows; otherwise a program
// started from a descriptor is named by its number.
func SetProcessName(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0)
}

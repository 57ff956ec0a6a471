package mux

import (
	"os"

	"golang.org/x/sys/unix"
)

func cloexecPair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// cloexecPipe returns the reading and the writing end.
func cloexecPipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}

// setSubreaper makes orphans of the children come to this process instead of
// init.
func setSubreaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// setProcessName sets what ps shows as the command's name; a program that was
// started from a descriptor is named by its number otherwise.
func setProcessName(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0)
}

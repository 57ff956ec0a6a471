package sys

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// JoinCgroup makes the child start in the cgroup of the directory; "" is none.
func JoinCgroup(attr *syscall.SysProcAttr, dir string) (closeFD func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", dir, err)
	}
	attr.UseCgroupFD, attr.CgroupFD = true, fd
	return func() { unix.Close(fd) }, nil
}

func SetRlimit(r *unix.Rlimit, soft, hard uint64) { r.Cur, r.Max = soft, hard }

// PollExit blocks until the process has ended; false if it cannot wait for it.
func PollExit(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 {
			return true
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
	}
}

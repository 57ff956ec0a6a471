package mux

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// joinCgroup makes the child be born in the cgroup directory; "" is none.
func joinCgroup(attr *syscall.SysProcAttr, dir string) (closeFD func(), err error) {
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

// openTerminal returns the ends of a new terminal, above the descriptors that
// children get by number. The master does not block: that is a property of the
// description, which the server shares.
func openTerminal() (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, -1, err
	}
	master = moveFD(master)
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		unix.Close(master)
		return -1, -1, err
	}
	return master, moveFD(slave), nil
}

func setRlimit(r *unix.Rlimit, soft, hard uint64) { r.Cur, r.Max = soft, hard }

// pollExit blocks until the process ended; false when it cannot tell.
func pollExit(pid int) bool {
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

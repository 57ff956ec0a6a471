package mux

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// joinCgroup refuses: there are no cgroups on this system.
func joinCgroup(_ *syscall.SysProcAttr, dir string) (closeFD func(), err error) {
	if dir != "" {
		return nil, fmt.Errorf("cgroup %s: not supported on this system", dir)
	}
	return func() {}, nil
}

// openTerminal returns the ends of a new terminal, above the descriptors that
// children get by number. The master does not block.
func openTerminal() (master, slave int, err error) {
	m, t, err := pty.Open()
	if err != nil {
		return -1, -1, err
	}
	defer m.Close()
	defer t.Close()
	if master, err = dupHigh(m); err != nil {
		return -1, -1, err
	}
	if slave, err = dupHigh(t); err != nil {
		unix.Close(master)
		return -1, -1, err
	}
	err = errors.Join(unix.SetNonblock(master, true), unix.SetNonblock(slave, false))
	if err != nil {
		closeAll([]int{master, slave})
	}
	return master, slave, err
}

// dupHigh duplicates f's descriptor above those that children get by number,
// without the poller of os.File.
func dupHigh(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	if err := raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, highFD)
	}); err != nil {
		return -1, err
	}
	return fd, dupErr
}

func setRlimit(r *unix.Rlimit, soft, hard uint64) { r.Cur, r.Max = soft, hard }

// pollExit cannot tell: only a parent is told.
func pollExit(int) bool { return false }

package sys

import (
	"errors"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// MaxCanonical is how many bytes of a line a terminal keeps that edits lines itself
// (N_TTY_BUF_SIZE - 1).
const MaxCanonical = 4095

// OpenTerminal returns the ends of a new terminal, above the descriptors that
// children get by number. The master does not block: that is a property of the
// description, which the server shares.
func OpenTerminal() (master, slave int, err error) {
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
		CloseAll([]int{master, slave})
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
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, HighFD)
	}); err != nil {
		return -1, err
	}
	return fd, dupErr
}

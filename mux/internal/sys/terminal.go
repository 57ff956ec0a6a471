package sys

import (
	"errors"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// MaxCanonical is the maximum length of a line in a terminal that edits lines
// itself, in bytes (N_TTY_BUF_SIZE - 1).
const MaxCanonical = 4095

// OpenTerminal returns the ends of a new terminal, at HighFD or above. The
// master is non-blocking, a property of the file description, which the server
// shares.
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

// dupHigh duplicates f's descriptor to HighFD or above, without os.File's
// poller.
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

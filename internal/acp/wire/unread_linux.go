package wire

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread asks the pipe. Fd would make the descriptor blocking, hence the detour.
func unread(w io.Writer) (n int, err error) {
	f, ok := w.(syscall.Conn)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := conn.Control(func(fd uintptr) {
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD, pipe(7)
	}); cerr != nil {
		return 0, cerr
	}
	return n, err
}

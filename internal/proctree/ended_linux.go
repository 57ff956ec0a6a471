package proctree

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// waitEnd waits on a pidfd; reported is false if none can be had.
func waitEnd(ctx context.Context, p Proc) (reported bool, err error) {
	fd, err := unix.PidfdOpen(p.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false, nil
	}
	if scarce(fd) {
		_ = unix.Close(fd)
		return false, nil
	}
	f := os.NewFile(uintptr(fd), "pidfd") // polled by the Go runtime: no thread waits
	defer f.Close()
	if !p.Alive() { // otherwise the pidfd is another process's
		return true, nil
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = conn.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	return err == nil, nil
}

package sys

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/clock"
)

// peerUID returns the user at the other end of a unix socket (LOCAL_PEERCRED of
// unix(4)).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

// peerProcess returns the process at the other end of a unix socket.
func peerProcess(fd int) (int, error) {
	return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
}

// WaitProcess waits until the process has ended. It polls: only a parent could
// wait for it.
func WaitProcess(ctx context.Context, pid int) error {
	for pid > 0 {
		if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
			return nil
		}
		if err := clock.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// ProcessUID returns the user that a process runs as.
func ProcessUID(pid int) (int, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return -1, err
	}
	return int(k.Eproc.Ucred.Uid), nil
}

// SignalProcess signals the process if right returns true.
func SignalProcess(pid int, sig unix.Signal, right func() bool) {
	if right() {
		_ = unix.Kill(pid, sig)
	}
}

package proctree

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the polling interval where the kernel gives no descriptor for a
// process (before Linux 5.3, or out of descriptors).
const tick = 10 * time.Millisecond

// handle refers to one incarnation of a pid: by pidfd, or only by its start
// time.
type handle struct {
	proc Proc
	fd   int // pidfd, or -1
}

// openHandle opens p and verifies that it is still p; alive is false if not.
func openHandle(p Proc) (h *handle, alive bool) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, false
	}
	h = &handle{proc: p, fd: -1}
	if err == nil && scarce(fd) {
		_ = unix.Close(fd)
	} else if err == nil {
		h.fd = fd
	}
	// Once the descriptor is open, a reuse of the pid would show in the start
	// time.
	if !p.Alive() {
		h.close()
		return nil, false
	}
	return h, true
}

// spare is how many descriptors are left free for reading the process table and
// for other users while a tree is ended.
const spare = 16

// scarce reports whether descriptors are about to run out, judging by one just
// opened: it is the lowest that was free.
func scarce(fd int) bool {
	var l unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil && uint64(fd)+spare >= l.Cur
}

func (h *handle) signal(sig syscall.Signal) error {
	if h.fd >= 0 {
		return unix.PidfdSendSignal(h.fd, sig, nil, 0)
	}
	if !h.proc.Alive() {
		return syscall.ESRCH
	}
	return unix.Kill(h.proc.PID, sig)
}

func (h *handle) close() {
	if h.fd >= 0 {
		_ = unix.Close(h.fd)
		h.fd = -1
	}
}

// waitAny returns when a process ends, at the time until, or with ctx's error.
func waitAny(ctx context.Context, handles []*handle, until time.Time) error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("wait for exits: %w", err)
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		_, _ = unix.Write(pipe[1], []byte{0})
	})
	defer func() {
		if !stop() {
			<-woken
		}
		_ = unix.Close(pipe[0])
		_ = unix.Close(pipe[1])
	}()

	fds := []unix.PollFd{{Fd: int32(pipe[0]), Events: unix.POLLIN}}
	limit := time.Until(until)
	for _, h := range handles {
		if h.fd < 0 {
			limit = min(limit, tick)
			continue
		}
		fds = append(fds, unix.PollFd{Fd: int32(h.fd), Events: unix.POLLIN})
	}
	// Rounded up: a wait of 0.4 ms must not become a busy loop of 0 ms polls.
	ms := int(max(limit, 0)/time.Millisecond) + 1
	if _, err := unix.Poll(fds, ms); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for exits: %w", err)
	}
	return ctx.Err()
}

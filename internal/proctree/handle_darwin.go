package proctree

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tick bounds one wait, so that the end of a context is noticed in time.
const tick = 20 * time.Millisecond

// handle refers to one incarnation of a pid, by its start time.
type handle struct{ proc Proc }

func openHandle(p Proc) (h *handle, alive bool) {
	return &handle{proc: p}, p.Alive()
}

// signal checks the start time just before it sends: macOS has no way to close
// the gap between the two.
func (h *handle) signal(sig syscall.Signal) error {
	if !h.proc.Alive() {
		return syscall.ESRCH
	}
	return unix.Kill(h.proc.PID, sig)
}

func (h *handle) close() {}

// waitAny returns when a process ends, after a tick, at the time until, or with
// ctx's error.
func waitAny(ctx context.Context, handles []*handle, until time.Time) error {
	kq, err := unix.Kqueue()
	if err != nil {
		return fmt.Errorf("wait for exits: %w", err)
	}
	defer func() { _ = unix.Close(kq) }()
	changes := make([]unix.Kevent_t, len(handles))
	for i, h := range handles {
		unix.SetKevent(&changes[i], h.proc.PID, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
		changes[i].Fflags = unix.NOTE_EXIT
	}
	limit := unix.NsecToTimespec(int64(max(min(time.Until(until), tick), 0)))
	events := make([]unix.Kevent_t, 1)
	// A process already gone comes back as an event with ESRCH.
	_, err = unix.Kevent(kq, changes, events, &limit)
	if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("wait for exits: %w", err)
	}
	return ctx.Err()
}

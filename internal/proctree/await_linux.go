package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// AwaitEnd returns nil when any of the processes has ended, or there are none.
// It holds a descriptor for each, and no thread.
func AwaitEnd(ctx context.Context, procs []Proc) error {
	over := make(chan error, len(procs))
	files := make([]*os.File, 0, len(procs))
	var err error
	for _, p := range procs {
		fd, e := unix.PidfdOpen(p.PID, unix.PIDFD_NONBLOCK)
		if e != nil {
			err = e
			break
		}
		f := os.NewFile(uintptr(fd), "pidfd")
		files = append(files, f)
		go func() { over <- ended(f) }()
	}
	if err == nil && len(procs) > 0 && allAlive(procs) { // detects a reused pid
		select {
		case err = <-over:
			over <- err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	past := time.Unix(1, 0)
	for _, f := range files {
		_ = f.SetReadDeadline(past) // ends the wait; an error means that it has ended
	}
	for _, f := range files {
		<-over
		_ = f.Close()
	}
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("wait for the end of a process: %w", err)
}

func allAlive(procs []Proc) bool {
	for _, p := range procs {
		if !p.Alive() {
			return false
		}
	}
	return true
}

// ended waits for the process of a pidfd, which then becomes readable
// (pidfd_open(2)).
func ended(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			failure = err
		}
		return n > 0 || failure != nil
	})
	return errors.Join(err, failure)
}

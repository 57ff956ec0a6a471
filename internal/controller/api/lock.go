package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Owner identifies the holder of a city's lock: the content of the lock file.
type Owner struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// Lock is the right to control one city, held until Close or the end of the
// process. The file stays: removing it would let two processes lock two files of
// one name.
type Lock struct {
	f *os.File
}

// TakeLock makes the city's .gc folder and takes its lock. An
// [ErrControllerRunning] names the holder.
func TakeLock(city string) (*Lock, error) {
	made, err := MakeStateDir(city)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(LockPath(city), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if made {
			os.Remove(StateDir(city))
		}
		return nil, StateDirError(city, err)
	}
	if err := Flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		held := readOwner(f)
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, RunningError(city, held)
		}
		return nil, StateDirError(city, err)
	}
	b, err := json.Marshal(Owner{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Millisecond)})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(b, '\n'), 0)
	}
	if err != nil {
		f.Close()
		return nil, StateDirError(city, err)
	}
	return &Lock{f: f}, nil
}

// RunningError is an [ErrControllerRunning] that names the holder of the lock.
func RunningError(city string, held Owner) error {
	help := "gc status shows it, gc stop ends it"
	if held.PID == 0 {
		return &Error{Err: fmt.Errorf("%w: %s", ErrControllerRunning, city), Help: help}
	}
	return &Error{Err: fmt.Errorf("%w: pid %d, %s", ErrControllerRunning, held.PID, city), Help: help}
}

// Holder reports whether a process holds the city's lock, and which one. The
// error is that of opening the lock file.
func Holder(city string) (held Owner, locked bool, err error) {
	f, err := os.Open(LockPath(city))
	if err != nil {
		return Owner{}, false, err
	}
	defer f.Close()
	if Flock(f, unix.LOCK_SH|unix.LOCK_NB) == nil {
		return Owner{}, false, nil
	}
	return readOwner(f), true, nil
}

func readOwner(f *os.File) Owner {
	var o Owner
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err != nil || json.Unmarshal(b, &o) != nil {
		return Owner{}
	}
	return o
}

// Close releases the lock.
func (l *Lock) Close() error {
	_ = l.f.Truncate(0)
	return l.f.Close()
}

// Flock is flock(2), retried when a signal interrupts it.
func Flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// waitUnlocked returns once the lock at path is free.
func waitUnlocked(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("wait for the controller: %w", err)
	}
	done := make(chan error, 1)
	go func() {
		defer f.Close()
		done <- Flock(f, unix.LOCK_SH)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

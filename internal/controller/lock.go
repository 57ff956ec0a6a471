package controller

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

// owner is the content of the lock file: who holds it.
type owner struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// lock is the right to control one city, held by flock until Close or the end
// of the process. The file stays: removing it would let two processes lock two
// files of one name.
type lock struct {
	f *os.File
}

// takeLock makes the city's .gc folder and takes its lock. An
// ErrControllerRunning names the holder.
func takeLock(city string) (*lock, error) {
	made, err := makeStateDir(city)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(lockPath(city), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if made {
			os.Remove(StateDir(city))
		}
		return nil, stateDirError(city, err)
	}
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		held := readOwner(f)
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, runningError(city, held)
		}
		return nil, stateDirError(city, err)
	}
	b, err := json.Marshal(owner{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Millisecond)})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(b, '\n'), 0)
	}
	if err != nil {
		f.Close()
		return nil, stateDirError(city, err)
	}
	return &lock{f: f}, nil
}

func runningError(city string, held owner) error {
	help := "gc status shows it, gc stop ends it"
	if held.PID == 0 {
		return &Error{Err: fmt.Errorf("%w: %s", ErrControllerRunning, city), Help: help}
	}
	return &Error{Err: fmt.Errorf("%w: pid %d, %s", ErrControllerRunning, held.PID, city), Help: help}
}

// makeStateDir makes CITY/.gc, private, and reports whether it did.
func makeStateDir(city string) (made bool, err error) {
	err = os.Mkdir(StateDir(city), 0o700)
	switch {
	case err == nil:
		ignore := []byte("*\n")
		if err := os.WriteFile(StateDir(city)+"/.gitignore", ignore, 0o600); err != nil {
			os.Remove(StateDir(city))
			return false, stateDirError(city, err)
		}
		return true, nil
	case errors.Is(err, os.ErrExist):
		return false, nil
	}
	return false, stateDirError(city, err)
}

func stateDirError(city string, err error) error {
	hint := "make the folder writable for you, or copy the city to one that is"
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		hint = "make room on the disk of " + StateDir(city)
	}
	return hinted(hint, "%w: %w", ErrStateDir, err)
}

func readOwner(f *os.File) owner {
	var o owner
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err != nil || json.Unmarshal(b, &o) != nil {
		return owner{}
	}
	return o
}

// Close gives the lock back.
func (l *lock) Close() error {
	_ = l.f.Truncate(0)
	return l.f.Close()
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// waitUnlocked returns when nobody holds the lock of the city any more.
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
		done <- flock(f, unix.LOCK_SH)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

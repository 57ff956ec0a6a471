package statedir

import (
	"errors"
	"fmt"
	"os"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// Lock is the descriptor of the server's lock file, locked as long as the server lives.
type Lock int

// In reports whether the lock file in a directory is this one.
func (l Lock) In(d Dir) bool {
	var mine, there unix.Stat_t
	err := errors.Join(
		unix.Fstat(int(l), &mine),
		unix.Fstatat(int(d.Fd()), api.ServerLock, &there, unix.AT_SYMLINK_NOFOLLOW))
	return err == nil && mine.Dev == there.Dev && mine.Ino == there.Ino
}

// Restore makes and locks the lock file in a directory if it is missing. hold keeps its
// descriptor for the next server. ErrStateDir if another server has the lock.
func (l Lock) Restore(dir string, hold func(fd int) error) error {
	d, err := Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if l.In(d) {
		return nil
	}
	f, err := d.Open(api.ServerLock, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%w: another server has %s: %w", api.ErrStateDir, f.Name(), err)
	}
	if err := hold(int(f.Fd())); err != nil {
		return err
	}
	return l.Take(int(f.Fd()))
}

// Take makes fd the lock, with the number of the old one.
func (l Lock) Take(fd int) error {
	if err := sys.Dup2(fd, int(l)); err != nil {
		return err
	}
	_, err := unix.Pwrite(int(l), fmt.Appendf(nil, "%-20d\n", os.Getpid()), 0)
	return err
}

package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
)

// The socket and the state directory may be in a shared directory. Everything
// is checked before it is used: it must belong to this user and be of the right
// type, and symbolic links are not followed.

// Dir is an open state directory of this user's own.
type Dir struct {
	*os.File
}

// Open opens the directory. fs.ErrNotExist if there is none, ErrStateDir if
// others may use it.
func Open(dir string) (Dir, error) {
	if err := checkFolder(filepath.Dir(dir)); err != nil {
		return Dir{}, err
	}
	if fi, err := os.Lstat(dir); err != nil {
		if errors.Is(err, unix.ENOTDIR) {
			err = fs.ErrNotExist
		}
		return Dir{}, err
	} else if !fi.IsDir() {
		return Dir{}, fmt.Errorf("%w: %s: not a directory", api.ErrStateDir, dir)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return Dir{}, fmt.Errorf("%w: %w", api.ErrStateDir, &os.PathError{Op: "open", Path: dir, Err: err})
	}
	d := Dir{os.NewFile(uintptr(fd), dir)}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = checkOwner(&st, dir)
	}
	if err == nil && st.Mode&0o022 != 0 {
		err = fmt.Errorf("%w: others may write to %s", api.ErrStateDir, dir)
	}
	if err != nil {
		d.Close()
		return Dir{}, err
	}
	return d, nil
}

// Check returns an ErrStateDir if a server could not use its state directory.
// It makes nothing.
func Check(p api.Paths) error {
	d, err := Open(p.Dir)
	if err == nil {
		return d.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(p.Dir)
	for ; above != filepath.Dir(above); above = filepath.Dir(above) {
		if _, err := os.Lstat(above); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%w: make %s: %w", api.ErrStateDir, p.Dir, &os.PathError{Op: "write to", Path: above, Err: err})
	}
	return nil
}

// Make makes the directory, 0700, unless it exists.
func Make(dir string) error {
	err := os.MkdirAll(filepath.Dir(dir), 0o700)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", api.ErrStateDir, err)
	}
	d, err := Open(dir)
	if err != nil {
		if !errors.Is(err, api.ErrStateDir) {
			err = fmt.Errorf("%w: %w", api.ErrStateDir, err)
		}
		return err
	}
	defer d.Close()
	if err := d.Chmod(0o700); err != nil {
		return fmt.Errorf("%w: %w", api.ErrStateDir, err)
	}
	return nil
}

// Open opens a regular file of this user's in the directory; 0600 when it is
// made.
func (d Dir) Open(name string, flags int) (*os.File, error) {
	path := filepath.Join(d.Name(), name)
	fd, err := unix.Openat(int(d.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a symbolic link", api.ErrStateDir, path)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrStateDir, &os.PathError{Op: "open", Path: path, Err: err})
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = checkOwner(&st, path)
	}
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("%w: %s: not a regular file", api.ErrStateDir, path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// CheckSocket returns an error for anything but a socket of this user; nil if
// nothing is there.
func CheckSocket(path string) error {
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%w: %w", api.ErrStateDir, &os.PathError{Op: "lstat", Path: path, Err: err})
	}
	if err := checkOwner(&st, path); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return fmt.Errorf("%w: %s is not a socket", api.ErrStateDir, path)
	}
	return nil
}

// checkFolder returns an error for a directory in which others may replace this
// user's files; nil if it does not exist.
func checkFolder(dir string) error {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return nil // opening what is below it says why
	}
	if st.Uid != 0 {
		if err := checkOwner(&st, dir); err != nil {
			return err
		}
	}
	others := st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && st.Gid != st.Uid
	if others && st.Mode&unix.S_ISVTX == 0 {
		return fmt.Errorf("%w: others may write to %s", api.ErrStateDir, dir)
	}
	return nil
}

func checkOwner(st *unix.Stat_t, path string) error {
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to another user (uid %d)", api.ErrStateDir, path, st.Uid)
	}
	return nil
}

// Lock opens a file of the directory and waits for its exclusive lock, which
// ends when the file is closed.
func (d Dir) Lock(ctx context.Context, name string) (*os.File, error) {
	f, err := d.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return f, nil
	}
	locked := make(chan error, 1)
	go func() { locked <- flockWait(f) }() // returns when the holder ends, at the latest
	select {
	case err := <-locked:
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%w: lock %s: %w", api.ErrStateDir, f.Name(), err)
		}
		return f, nil
	case <-ctx.Done():
		go func() { <-locked; f.Close() }()
		return nil, context.Cause(ctx)
	}
}

func flockWait(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// maxLog is the size at which the daemons' log is rotated.
const maxLog = 1 << 20

// OpenLog opens the daemons' log for appending, and rotates one that grew too
// long.
func OpenLog(p api.Paths) (*os.File, error) {
	d, err := Open(p.Dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var st unix.Stat_t
	if unix.Fstatat(int(d.Fd()), api.ServerLog, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Size > maxLog {
		_ = unix.Renameat(int(d.Fd()), api.ServerLog, int(d.Fd()), api.ServerLog+".1")
	}
	return d.Open(api.ServerLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY)
}

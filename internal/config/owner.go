package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gascity.dev/gc/internal/shell"
)

// UnsafeError explains why a file of a city is not used: another user could
// have written it.
type UnsafeError struct {
	Path string
	Why  string
	Help string
}

func (e *UnsafeError) Error() string { return fmt.Sprintf("%s is not used: %s", e.Path, e.Why) }

// Hint returns what to do.
func (e *UnsafeError) Hint() string { return e.Help }

// CheckOwner returns an *UnsafeError if another user can control the content of
// path: it belongs to another user, or others may write it or its directory.
// Root counts as the user, as do the members of the user's own group of one, which has the
// number of the user: so are volumes of a pod, which belong to root and that group. A
// symbolic link is checked at both ends. A path that does not exist is nil.
func CheckOwner(path string) error {
	if err := checkOwner(path); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real == path {
		return nil // the reader reports an unreachable path
	}
	return checkOwner(real)
}

func checkOwner(path string) error {
	for _, p := range []string{filepath.Dir(path), path} {
		st, err := os.Lstat(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("check the owner of %s: %w", p, err)
		}
		if err := ownedByUser(p, st); err != nil {
			return err
		}
	}
	return nil
}

// ownedByUser checks one file or directory.
func ownedByUser(path string, st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mode := st.Mode()
	switch {
	case int(sys.Uid) != os.Geteuid() && sys.Uid != 0:
		return &UnsafeError{
			Path: path, Why: fmt.Sprintf("it belongs to another user (uid %d)", sys.Uid),
			Help: "copy what you trust to a directory of your own",
		}
	case mode&fs.ModeSymlink != 0:
		return nil // its mode has no meaning
	case mode&0o002 != 0, mode&0o020 != 0 && sys.Gid != sys.Uid && int(sys.Gid) != os.Geteuid():
		who, fix := "others", "chmod o-w "
		if mode&0o002 == 0 {
			who, fix = fmt.Sprintf("its group (gid %d)", sys.Gid), "chmod g-w "
		}
		return &UnsafeError{Path: path, Why: who + " may write it", Help: fix + shell.Word(path)}
	}
	return nil
}

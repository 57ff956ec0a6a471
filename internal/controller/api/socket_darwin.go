package api

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func peerUIDOf(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

func peerPIDOf(fd int) (int, error) {
	return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
}

// shortAlias is a link in a private folder of the short path /tmp; it lasts for
// one bind or connect.
func shortAlias(dir *os.File) (alias string, done func(), err error) {
	tmp, err := os.MkdirTemp("/tmp", "gc")
	if err != nil {
		return "", nil, err
	}
	done = func() { os.RemoveAll(tmp) }
	alias = filepath.Join(tmp, "d")
	if err := os.Symlink(dir.Name(), alias); err != nil {
		done()
		return "", nil, err
	}
	return alias, done, nil
}

package sockpath

import (
	"os"
	"path/filepath"
)

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

// Package sockpath gives Unix sockets with long paths an address: a socket address holds
// about 100 bytes. It opens no socket. Whoever listens on or dials a socket whose folder
// somebody else chose calls it.
package sockpath

import (
	"os"
	"path/filepath"
)

// Max is the longest path that fits a socket address everywhere: 104 bytes with the
// final NUL on macOS, 108 on Linux.
const Max = 103

// With calls use with a path for the socket that fits an address: the path itself, or
// one through a short alias of its folder, which is valid during the call.
func With(path string, use func(string) error) error {
	if len(path) <= Max {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	alias, done, err := shortAlias(dir)
	if err != nil {
		return err
	}
	defer done()
	return use(filepath.Join(alias, filepath.Base(path)))
}

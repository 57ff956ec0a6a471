package statedir

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"

	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

// maxSocketPath is the longest path that fits sockaddr_un with its final NUL.
var maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// withSocketAddr calls f with an address for path that fits into a socket
// address. A path that is too long goes through a descriptor of its directory.
func withSocketAddr(path string, f func(addr string) error) error {
	if len(path) <= maxSocketPath {
		return f(path)
	}
	if goruntime.GOOS != "linux" {
		return fmt.Errorf("%w: the socket path has %d bytes, at most %d are possible: %s", api.ErrStateDir, len(path), maxSocketPath, path)
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	addr := "/proc/self/fd/" + strconv.Itoa(int(d.Fd())) + "/" + filepath.Base(path)
	if len(addr) > maxSocketPath {
		return fmt.Errorf("%w: the socket's name is too long: %s", api.ErrStateDir, filepath.Base(path))
	}
	return f(addr)
}

// Dial connects to the server's socket.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var conn net.Conn
	err := withSocketAddr(path, func(addr string) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "unix", addr)
		conn = c
		return err
	})
	return conn, err
}

// Listen makes the socket, 0600, replacing an existing one. The caller holds
// the state directory's lock.
func Listen(path string) (*net.UnixListener, error) {
	if err := CheckSocket(path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var l *net.UnixListener
	err := withSocketAddr(path, func(addr string) error {
		old := unix.Umask(0o177)
		defer unix.Umask(old)
		var err error
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: addr, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

package statedir

import (
	"context"
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/sockpath"
)

// Dial connects to the server's socket.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var conn net.Conn
	err := sockpath.With(path, func(addr string) error {
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
	err := sockpath.With(path, func(addr string) error {
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

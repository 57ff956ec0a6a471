package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"gascity.dev/gc/internal/sockpath"
)

// listenUnix makes the socket, private, replacing one that a dead controller
// left. The caller holds the city's lock.
func listenUnix(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var l *net.UnixListener
	err := sockpath.With(path, func(short string) error {
		var err error
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false)
			err = os.Chmod(path, 0o600)
		}
		return err
	})
	if err != nil {
		if l != nil {
			l.Close()
		}
		return nil, err
	}
	return &ownListener{UnixListener: l, path: path}, nil
}

// ownListener accepts connections from this user only, and removes its socket
// when it is closed.
type ownListener struct {
	*net.UnixListener
	path string
}

// Accept implements [net.Listener].
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(c); err == nil && (uid == os.Geteuid() || uid == 0) {
			return c, nil
		}
		c.Close()
	}
}

// Close implements [net.Listener].
func (l *ownListener) Close() error {
	os.Remove(l.path)
	return l.UnixListener.Close()
}

func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	var conn net.Conn
	err := sockpath.With(path, func(short string) error {
		var d net.Dialer
		var err error
		conn, err = d.DialContext(ctx, "unix", short)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if unix, ok := conn.(*net.UnixConn); ok {
		if uid, err := peerUID(unix); err != nil || uid != os.Geteuid() && uid != 0 {
			conn.Close()
			return nil, errors.Join(fmt.Errorf("connect: %s belongs to another user (uid %d)", path, uid), err)
		}
	}
	return conn, nil
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// peerUID returns the user on the other end.
func peerUID(c *net.UnixConn) (int, error) { return ofPeer(c, peerUIDOf) }

// peerPID returns the process that made the connection; 0 if unknown.
func peerPID(c *net.UnixConn) int {
	pid, err := ofPeer(c, peerPIDOf)
	if err != nil {
		return 0
	}
	return pid
}

func ofPeer(c *net.UnixConn, ask func(fd int) (int, error)) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	answer, inner := 0, error(nil)
	if err := raw.Control(func(fd uintptr) { answer, inner = ask(int(fd)) }); err != nil {
		return 0, err
	}
	return answer, inner
}

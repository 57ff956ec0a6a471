package control

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"gascity.dev/gc/internal/sockpath"
)

// Listen makes the socket, with mode 0600. A socket of that path that nobody serves
// is replaced.
func Listen(path string) (l net.Listener, err error) {
	err = sockpath.With(path, func(addr string) error {
		if conn, err := net.Dial("unix", addr); err == nil {
			conn.Close()
			return fmt.Errorf("control socket %s is in use", path)
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		old := syscall.Umask(0o177)
		defer syscall.Umask(old)
		ul, err := net.ListenUnix("unix", &net.UnixAddr{Name: addr, Net: "unix"})
		if err != nil {
			return err
		}
		ul.SetUnlinkOnClose(false) // by its address, which may be an alias; Serve's caller removes the path
		l = ul
		return nil
	})
	return l, err
}

// sameUser reports whether the process at the other end is this user's.
func sameUser(conn net.Conn) bool {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return true // an in-memory connection of a test
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		uid, uerr := peerUID(int(fd))
		same = uerr == nil && uid == os.Geteuid()
	})
	return err == nil && same
}

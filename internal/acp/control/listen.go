package control

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// Listen makes the socket, with mode 0600. A socket of that path that nobody serves
// is replaced.
func Listen(path string) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("control socket %s is in use", path)
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	old := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
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

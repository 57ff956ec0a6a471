package mux

import (
	"fmt"
	"net"
	"os"
)

// checkPeer returns ErrForeign unless the other end of a unix connection runs
// as the same user.
func checkPeer(conn net.Conn) error {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var uidErr error
	if err := raw.Control(func(fd uintptr) { uid, uidErr = peerUID(int(fd)) }); err != nil {
		return err
	}
	if uidErr != nil {
		return uidErr
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("%w: uid %d", ErrForeign, uid)
	}
	return nil
}

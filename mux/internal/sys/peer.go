package sys

import (
	"errors"
	"fmt"
	"gascity.dev/gc/mux/api"
	"net"
	"os"
)

// CheckPeer returns ErrForeign unless the other end of a unix connection runs
// as the same user.
func CheckPeer(conn net.Conn) error {
	uid, err := askPeer(conn, peerUID)
	if errors.Is(err, errNoPeer) {
		return nil
	}
	return checkUID(uid, err)
}

// CheckPeerFD is CheckPeer for the descriptor of a unix connection.
func CheckPeerFD(fd int) error { return checkUID(peerUID(fd)) }

func checkUID(uid int, err error) error {
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("%w: uid %d", api.ErrForeign, uid)
	}
	return err
}

// PeerPID returns the process that made a unix connection; 0 if unknown.
func PeerPID(conn net.Conn) int {
	pid, err := askPeer(conn, peerProcess)
	if err != nil {
		return 0
	}
	return pid
}

// errNoPeer is returned for a connection that is not a unix socket.
var errNoPeer = errors.New("not a unix socket")

// askPeer asks the kernel about the other end of a unix connection.
func askPeer(conn net.Conn, ask func(fd int) (int, error)) (n int, err error) {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errNoPeer
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = ask(int(fd)) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}

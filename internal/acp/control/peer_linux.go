package control

import "golang.org/x/sys/unix"

// peerUID is the user at the other end of a unix socket (SO_PEERCRED of unix(7)).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

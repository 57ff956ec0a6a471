package control

import "golang.org/x/sys/unix"

// peerUID is the user at the other end of a unix socket (LOCAL_PEERCRED of unix(4)).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

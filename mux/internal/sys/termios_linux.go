package sys

import "golang.org/x/sys/unix"

// CookedMode reports whether the terminal edits lines itself (ICANON) and
// turns CR into LF (ICRNL). The master shows the slave's settings.
func CookedMode(fd int) (canonical, crnl bool) {
	if fd < 0 {
		return false, false
	}
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return false, false
	}
	return t.Lflag&unix.ICANON != 0, t.Iflag&unix.ICRNL != 0
}

// SignalsInput reports whether the terminal turns Ctrl-C into SIGINT and drops
// the input before it (ISIG without NOFLSH).
func SignalsInput(fd int) bool {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil && t.Lflag&(unix.ISIG|unix.NOFLSH) == unix.ISIG && t.Cc[unix.VINTR] == 0x03
}

// UnreadInput returns how many bytes of input the program has not read; in
// cooked mode those of finished lines. Only the slave has that number, so it is
// opened for a moment, without becoming a controlling terminal.
func UnreadInput(fd int) (n int, known bool) {
	if fd < 0 {
		return 0, false
	}
	const flags = unix.O_RDONLY | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NONBLOCK
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, flags)
	if errno != 0 {
		return 0, false
	}
	defer unix.Close(int(slave))
	n, err := unix.IoctlGetInt(int(slave), unix.TIOCINQ)
	return n, err == nil
}

package sys

import "golang.org/x/sys/unix"

// CookedMode reports whether the terminal edits lines itself (ICANON) and
// turns CR into LF (ICRNL). The master shows the slave's settings.
func CookedMode(fd int) (canonical, crnl bool) {
	if fd < 0 {
		return false, false
	}
	t, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
	if err != nil {
		return false, false
	}
	return t.Lflag&unix.ICANON != 0, t.Iflag&unix.ICRNL != 0
}

// UnreadInput is unknown on this system.
func UnreadInput(int) (n int, known bool) { return 0, false }

// SignalsInput is called only where UnreadInput is known.
func SignalsInput(int) bool { return false }
